"""The outer loop: a user message, its turn, the next, until somebody leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from agent_chat.core.events import (
    Entry,
    Event,
    LeaveReason,
    Notice,
    SessionEnded,
    SessionResumed,
    SessionStarted,
    TurnEnded,
    TurnStarted,
    UserSaid,
)
from agent_chat.core.outcome import CancelReason, Outcome
from agent_chat.core.ports import Compact, InputSource, Leave, UserInput
from agent_chat.core.text import storable
from agent_chat.engine.compaction import compact
from agent_chat.engine.runtime import Runtime
from agent_chat.engine.titles import write_title
from agent_chat.engine.turn import Turn


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """What a session is started with."""

    program_version: str
    workspace: str
    system: str
    dry_run: bool = False


class Session:
    """One conversation. Turns run one at a time."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._task: asyncio.Task[Outcome] | asyncio.Task[bool] | None = None
        """The turn, or the compaction, that runs."""
        self._titling: asyncio.Task[None] | None = None
        self._cancelled: CancelReason | None = None
        self._steering: list[str] = []
        self._recording: set[asyncio.Task[None]] = set()

    async def start(self, info: SessionInfo) -> None:
        """Begins a new session."""
        await self.runtime.journal.record(
            SessionStarted(
                program_version=info.program_version,
                workspace=info.workspace,
                system=info.system,
                model=self.runtime.model.name,
                tools=self._tool_names(),
                dry_run=info.dry_run,
                rules=asdict(self.runtime.rules),
            )
        )

    async def resume(
        self,
        entries: Iterable[Entry],
        program_version: str,
        system: str | None = None,
        *,
        dry_run: bool = False,
    ) -> None:
        """Takes up a session where its log ends; `system` replaces its system prompt where given."""
        self.runtime.journal.restore(entries)
        await self.runtime.journal.record(
            SessionResumed(
                program_version=program_version,
                model=self.runtime.model.name,
                tools=self._tool_names(),
                system=system,
                dry_run=dry_run,
                rules=asdict(self.runtime.rules),
            )
        )

    async def run(self, inputs: InputSource) -> LeaveReason:
        """Turn by turn until the user leaves or a turn ends the chat."""
        while True:
            match await inputs.next():
                case Leave(reason):
                    break
                case Compact(focus):
                    await self.compact(focus)
                case UserInput(text):
                    outcome = await self.turn(text)
                    self._title_soon(text, outcome.answer)
                    if outcome.reason == "chat_ended":
                        reason: LeaveReason = "end_chat"
                        break
                    if outcome.reason == "terminated":
                        reason = "terminated"
                        break
        await self.end(reason)
        return reason

    async def turn(self, text: str) -> Outcome:
        """Runs one turn to its outcome; every way of ending is recorded. Cancelling the caller cancels it."""
        journal, clock = self.runtime.journal, self.runtime.clock
        started = clock.monotonic()
        self._cancelled = None
        self.runtime.stopped_by = "the user"
        await self._recorded()
        await journal.record(TurnStarted())
        await journal.record(UserSaid(text=storable(text)))
        self._task = running = asyncio.create_task(Turn(self.runtime, self._take_steering).run())
        try:
            outcome = await running
        except asyncio.CancelledError:
            reason = self._cancelled or "interrupted"
            outcome = Outcome(reason, evidence=_CANCELLED[reason])
            if self._cancelled is None:  # the caller was cancelled, not the turn alone
                await self._end_turn(outcome, clock.monotonic() - started)
                raise
        finally:
            self._task = None
        await self._end_turn(outcome, clock.monotonic() - started)
        return outcome

    async def compact(self, focus: str = "") -> None:
        """Replaces the older messages by a summary, between two turns. What comes of it is recorded."""
        self._cancelled = None
        await self._recorded()
        self._task = running = asyncio.create_task(compact(self.runtime, "asked", storable(focus)))
        try:
            if not await running:
                await self.runtime.journal.record(Notice(message=NOTHING_TO_COMPACT))
        except asyncio.CancelledError:
            if self._cancelled is None:  # the caller was cancelled
                raise
        finally:
            self._task = None

    def interrupt(self, reason: CancelReason = "interrupted") -> bool:
        """Stops the turn or the compaction that runs, at once. False where none does."""
        if self._task is None or self._task.done():
            return False
        if self._cancelled is None:
            self._cancelled = reason
            self._task.cancel()
        return True

    def steer(self, text: str) -> None:
        """Says something to the turn that runs; the model hears it at its next iteration."""
        self._steering.append(storable(text))

    def record_soon(self, event: Event) -> None:
        """For a command of the user's between two turns: holds at once, and is in the log before anything
        else is."""
        journal = self.runtime.journal
        task = asyncio.get_running_loop().create_task(journal.tell(journal.enter(event)))
        self._recording.add(task)
        task.add_done_callback(self._recording.discard)

    async def end(self, reason: LeaveReason) -> None:
        if self._titling is not None:
            self._titling.cancel()
            await asyncio.wait([self._titling])
        await self._recorded()
        await self.runtime.journal.record(SessionEnded(reason=reason))

    async def _recorded(self) -> None:
        if self._recording:
            await asyncio.gather(*self._recording)

    async def _end_turn(self, outcome: Outcome, seconds: float) -> None:
        spent = self.runtime.journal.state.turn_spent
        await self.runtime.journal.record(
            TurnEnded(
                kind=outcome.kind,
                reason=outcome.reason,
                answer=outcome.answer,
                evidence=outcome.evidence,
                iterations=spent.iterations,
                tool_calls=spent.tool_calls,
                usage=spent.usage,
                cost_usd=spent.cost_usd,
                duration_s=seconds,
            )
        )

    def _take_steering(self) -> list[str]:
        taken, self._steering = self._steering, []
        return taken

    def _title_soon(self, said: str, answer: str) -> None:
        """Has the session named behind the conversation, where a small model does that."""
        small, state = self.runtime.small, self.runtime.journal.state
        if small is not None and answer and not state.titled and self._titling is None:
            titling = write_title(self.runtime, small, storable(said), storable(answer))
            self._titling = asyncio.create_task(titling)

    def _tool_names(self) -> tuple[str, ...]:
        return tuple(spec.name for spec in self.runtime.toolbox.specs())


NOTHING_TO_COMPACT = "There is nothing to summarize yet."
_CANCELLED: dict[CancelReason, str] = {
    "interrupted": "Interrupted by the user.",
    "terminated": "The program was told to end.",
}
