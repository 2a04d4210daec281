"""Runs logged turns through the loop, and stops at the first difference."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from agent_chat.core.events import (
    DAMAGED,
    Entry,
    LeaveReason,
    SessionEnded,
    SessionResumed,
    TurnEnded,
    TurnStarted,
    UnknownEvent,
    UserSaid,
)
from agent_chat.core.model import Delta
from agent_chat.core.outcome import CancelReason, Outcome
from agent_chat.core.ports import Approver, ChatModel, Clock, EventSink, Toolbox
from agent_chat.core.redaction import Redactor
from agent_chat.engine.clock import SystemClock
from agent_chat.engine.journal import Journal
from agent_chat.engine.replay.approver import ReplayApprover
from agent_chat.engine.replay.clock import ReplayClock
from agent_chat.engine.replay.difference import Difference
from agent_chat.engine.replay.model import ReplayModel, name_in, small_in, window_in
from agent_chat.engine.replay.remembered import ReplayResults
from agent_chat.engine.replay.script import TurnScript
from agent_chat.engine.replay.setting import GivenPrefix, setting_at
from agent_chat.engine.replay.staged import Checked, Live, Run, Staged
from agent_chat.engine.replay.tools import ReplayToolbox
from agent_chat.engine.runtime import Rules, Runtime
from agent_chat.engine.session import Session

ENOUGH = 1_000_000_000
"""Tokens; a window in which everything fits."""


@dataclass(frozen=True, slots=True)
class Real:
    """What a turn goes on with where it leaves the log."""

    model: ChatModel
    toolbox: Toolbox
    approver: Approver
    rules: Rules
    from_iteration: int
    """The first iteration that is not the log's."""


@dataclass(frozen=True, slots=True)
class ReplayedTurn:
    number: int
    entries: int
    """Logged entries that the loop made again."""
    difference: Difference | None = None
    ended: bool = True
    """Whether the log has the turn's end; without it, the turn was replayed as far as it goes."""
    problem: str = ""
    """Why it could not be replayed at all."""
    outcome: Outcome | None = None
    """Of a turn that went on for real."""

    @property
    def is_same(self) -> bool:
        return self.difference is None and not self.problem


class Nowhere:
    """An `EventSink` that nobody looks at."""

    async def emit(self, entry: Entry) -> None:
        pass

    def show(self, delta: Delta) -> None:
        pass


class Replay:
    """The turns of a session's log, one after the other.

    `toolbox` says what today's tools are; None takes them as the log knows them. `rules`: those of a log that
    does not say which it had. `reads`: tools that only read are really run, and compared. `sink` is told of
    everything that the loop does.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        *,
        toolbox: Toolbox | None = None,
        rules: Rules | None = None,
        reads: bool = False,
        sink: EventSink | None = None,
        clock: Clock | None = None,
        redact: Redactor | None = None,
        window_of: Callable[[str], int | None] = lambda name: None,
    ) -> None:
        self._entries = tuple(entries)
        self._toolbox = toolbox
        self._rules = rules or Rules()
        self._reads = reads
        self._sink = sink or Nowhere()
        self._clock = ReplayClock(clock or SystemClock())
        self._redact = redact
        self._known_window = window_of
        self._checked = Checked(self._sink)
        self._journal = self._restored(0)
        self._session_now: Session | None = None
        self._at = 0
        """How many entries the journal has."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The turns that are in the log."""
        return tuple(entry.turn for entry in self._entries if isinstance(entry.event, TurnStarted))

    def entries_of(self, number: int) -> tuple[Entry, ...]:
        """The entries of a turn."""
        begin, end = self._bounds(number)
        return self._entries[begin:end]

    async def turns(self) -> AsyncIterator[ReplayedTurn]:
        """All turns, up to the first one that is different."""
        for number in self.numbers:
            replayed = await self.turn(number)
            yield replayed
            if not replayed.is_same:
                return

    async def turn(self, number: int, real: Real | None = None) -> ReplayedTurn:
        """One turn; those before it are taken from the log. Turns are asked for in order."""
        begin, end = self._bounds(number)
        self._journal.restore(self._entries[self._at : begin])
        self._at = end
        entries = self._entries[begin:end]
        if problem := _unreplayable(entries):
            self._journal.restore(entries)
            return ReplayedTurn(number, 0, problem=problem)
        script = TurnScript(entries)
        staged = self._staged(script, real)
        self._session_now = staged.session if real is not None else None
        live = None if real is None else Live(real.from_iteration, real.rules)
        difference, outcome = await Run(staged, self._checked, live).to_its_end()
        if script.end is None:  # how the loop was stopped here is not in the log
            self._journal = self._restored(end)
        return ReplayedTurn(
            number,
            script.position,
            difference,
            ended=script.live or script.end is not None,
            outcome=outcome if script.live else None,
        )

    def interrupt(self, reason: CancelReason = "interrupted") -> bool:
        """Stops the turn that goes on for real. False where none does."""
        session = self._session_now
        return session is not None and session.interrupt(reason)

    async def leave(self, reason: LeaveReason) -> None:
        """Ends a session that went on for real."""
        await self._journal.record(SessionEnded(reason=reason))

    def _staged(self, script: TurnScript, real: Real | None) -> Staged:
        setting = setting_at(self._entries, script.entries[0].seq, self._rules)
        results = ReplayResults(script)
        model = name_in(script, setting.model)
        small = small_in(script, model)
        toolbox = ReplayToolbox(
            script,
            setting.tools,
            self._entries,
            results,
            setting.rules.result_limit,
            real=self._toolbox if real is None else real.toolbox,
            reads=self._reads,
        )
        self._clock.follow(script)
        runtime = Runtime(
            model=ReplayModel(script, model, None if real is None else real.model),
            toolbox=toolbox,
            approver=ReplayApprover(script, None if real is None else real.approver),
            results=results,
            clock=self._clock,
            rules=setting.rules,
            journal=self._journal,
            small=None if small is None else ReplayModel(script, small, is_small=True),
            window_of=self._window_of(script, small),
            prefix=GivenPrefix(script),
        )
        return Staged(script, Session(runtime), self._clock, plans=toolbox.is_complete)

    def _window_of(self, script: TurnScript, small: str | None) -> Callable[[str], int | None]:
        told = window_in(script)

        def window(name: str) -> int | None:
            if name == small:
                return ENOUGH  # it was chosen, so it had room
            return told or self._known_window(name)

        return window

    def _bounds(self, number: int) -> tuple[int, int]:
        begin = next(
            place
            for place, entry in enumerate(self._entries)
            if entry.turn == number and isinstance(entry.event, TurnStarted)
        )
        last = begin
        for place in range(begin + 1, len(self._entries)):
            match self._entries[place].event:
                case TurnEnded():
                    return begin, place + 1
                case TurnStarted() | SessionResumed():
                    break
                case _:
                    last = place
        return begin, last + 1

    def _restored(self, end: int) -> Journal:
        session_id = self._entries[0].session_id if self._entries else ""
        journal = Journal(session_id, self._checked, self._clock, self._redact)
        journal.restore(self._entries[:end])
        return journal


def _unreplayable(entries: Sequence[Entry]) -> str:
    for entry in entries:
        if isinstance(entry.event, UnknownEvent) and entry.event.type == DAMAGED:
            return f"Its log is damaged at entry {entry.seq}."
    if len(entries) < 2 or not isinstance(entries[1].event, UserSaid):
        return "The program died before the message was in the log."
    return ""
