"""A session in which one turn is replayed: compared at every step, and helped on from outside."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from agent_chat.core.context_events import CompactionUndone, JobReplied, SessionTitled, TurnPinned
from agent_chat.core.events import (
    ChangeUndone,
    Entry,
    Event,
    IterationStarted,
    Notice,
    Rewound,
    ToolRetried,
    TurnEnded,
    TurnStarted,
    UnknownEvent,
    UserSaid,
)
from agent_chat.core.model import Delta
from agent_chat.core.outcome import Outcome
from agent_chat.core.ports import EventSink
from agent_chat.engine.replay.clock import ReplayClock
from agent_chat.engine.replay.difference import Difference, compare, stands_still
from agent_chat.engine.replay.script import TurnScript
from agent_chat.engine.runtime import Rules
from agent_chat.engine.session import Session

STILL = 50
"""Rounds of the event loop without anything happening after which the loop waits for something."""

Outside = Notice | ChangeUndone | Rewound | TurnPinned | CompactionUndone | SessionTitled | UnknownEvent
"""What others than the loop record, at any time."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A session in which one turn is replayed."""

    script: TurnScript
    session: Session
    clock: ReplayClock
    plans: bool


@dataclass(frozen=True, slots=True)
class Live:
    """From when on the loop goes on for real, and under which rules."""

    from_iteration: int
    rules: Rules


class Checked:
    """An `EventSink` that compares what the loop does with what the log says."""

    def __init__(self, sink: EventSink) -> None:
        self._sink = sink
        self._staged: Staged | None = None
        self._told: Callable[[], None] = lambda: None
        self._live: Live | None = None
        self.difference: Difference | None = None

    def begin(self, staged: Staged, told: Callable[[], None], live: Live | None) -> None:
        self._staged, self._told, self._live = staged, told, live
        self.difference = None

    def show(self, delta: Delta) -> None:
        self._sink.show(delta)

    async def emit(self, entry: Entry) -> None:
        assert self._staged is not None
        script = self._staged.script
        if not script.live:
            if self.difference is not None or script.next is None:
                return  # it is over; the loop is about to learn it
            logged = script.entries[script.position]
            self.difference = compare(logged, entry, plans=self._staged.plans)
            if self.difference is not None:
                return
            await self._sink.emit(entry)
            script.advance()
            self._prepare(self._staged, entry.event)
            self._told()
        else:
            await self._sink.emit(entry)

    def _prepare(self, staged: Staged, event: Event) -> None:
        """Sees to it that the world does next what it did next."""
        script, session = staged.script, staged.session
        if isinstance(event, ToolRetried):
            staged.clock.retry_comes = True
        while isinstance(script.next, Outside) or _is_title(script.next):
            session.runtime.journal.restore([script.entries[script.position]])
            script.advance()
        # What was said to the turn before is at the turn's beginning, behind its own message.
        may_steer = script.position == 2 or not isinstance(event, TurnStarted | UserSaid)
        if may_steer and isinstance(script.next, UserSaid):
            for steered in script.entries[script.position :]:
                if not isinstance(steered.event, UserSaid):
                    break
                session.steer(steered.event.text)
        if self._live is not None and isinstance(script.next, IterationStarted):
            script.live = script.entries[script.position].iteration >= self._live.from_iteration
            if script.live:
                session.runtime.rules = self._live.rules


def _is_title(event: Event | None) -> bool:
    return isinstance(event, JobReplied) and event.job == "title"


class Run:
    """One turn on its way."""

    def __init__(self, staged: Staged, checked: Checked, live: Live | None) -> None:
        self._staged = staged
        self._script = staged.script
        self._checked = checked
        self._interrupted = False
        self._rung = False
        checked.begin(staged, self._interrupt_early, live)

    async def to_its_end(self) -> tuple[Difference | None, Outcome | None]:
        """The first difference, and how the turn ended."""
        said = self._script.entries[1].event
        assert isinstance(said, UserSaid)
        turn = asyncio.create_task(self._staged.session.turn(said.text))
        try:
            difference = await self._follow(turn)
        finally:
            self._script.close()
            if not turn.done():
                turn.cancel()
                await asyncio.wait((turn,))
        with suppress(asyncio.CancelledError):
            return difference, turn.result()
        return difference, None

    async def _follow(self, turn: asyncio.Task[Outcome]) -> Difference | None:
        """Helps the turn on where it waits for what the log says happened then."""
        script, still, seen = self._script, 0, -1
        while not turn.done():
            if self._checked.difference is not None:
                return self._checked.difference
            if script.live:
                await asyncio.wait((turn,))
                break
            if script.next is None and script.end is None:
                return None  # here the program died
            if script.busy or script.position != seen:
                still, seen = 0, script.position
                await asyncio.sleep(0.001 if script.busy else 0)
                continue
            still += 1
            await asyncio.sleep(0)
            if still >= STILL and not self._help():
                return stands_still(script.entries[script.position])
            still %= STILL
        if self._checked.difference is None and not script.live and script.next is not None:
            return stands_still(script.entries[script.position])
        return self._checked.difference

    def _help(self) -> bool:
        """Does what came from outside: an interrupt, or the end of the time. False where nothing did."""
        if self._is_cancelled() or self._script.end is None:
            return self._interrupt()
        if self._rung:
            return False
        self._rung = True
        return self._staged.clock.ring()

    def _interrupt_early(self) -> None:
        """A turn that was stopped before its first iteration, or between two of them."""
        if isinstance(self._script.next, TurnEnded) and self._is_cancelled() and not self._interrupted:
            asyncio.get_running_loop().call_soon(self._interrupt)

    def _is_cancelled(self) -> bool:
        return self._script.end is not None and self._script.end.kind == "cancelled"

    def _interrupt(self) -> bool:
        if self._interrupted:
            return False
        end = self._script.end
        reason = "terminated" if end is not None and end.reason == "terminated" else "interrupted"
        self._interrupted = self._staged.session.interrupt(reason)
        return self._interrupted
