"""Tools that observe what the log says they did, and do nothing."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent_chat.core.approval import Preview
from agent_chat.core.events import (
    ApprovalRequested,
    Entry,
    Event,
    FileChanged,
    IntentRejected,
    ToolFinished,
    ToolRetried,
    ToolStarted,
)
from agent_chat.core.model import ToolSpec
from agent_chat.core.observation import Effect, OnFailure, ToolResult
from agent_chat.core.ports import Tool, Toolbox, ToolContext
from agent_chat.engine.deadline import DeadlineExceeded
from agent_chat.engine.replay.remembered import Remembered, ReplayResults, result_of, whole
from agent_chat.engine.replay.script import TurnScript

SHOWN_OF_A_RETRY = 500
_TIMED_OUT = re.compile(r"No result after ([0-9.e+]+) s; stopped\.")


class ReplayToolbox:
    """The tools that were offered in the log, in its order.

    Where `real` has a tool of the name, that one says what fits its schema and what effect it has; a tool
    that is not there any more is taken as the log knows it. With `reads` those that only read are really run.
    """

    def __init__(
        self,
        script: TurnScript,
        offered: Sequence[str],
        past: Iterable[Entry],
        results: ReplayResults,
        result_limit: int,
        *,
        real: Toolbox | None = None,
        reads: bool = False,
    ) -> None:
        self._script = script
        self._offered = tuple(offered)
        self._results = results
        self._limit = result_limit
        self._real = real
        self._reads = reads
        self._effects: dict[str, Effect] = {}
        self._refused: set[str] = set()
        for entry in (*past, *script.entries):
            match entry.event:
                case ToolStarted() | ApprovalRequested() as event:
                    self._effects[event.name] = event.effect
                case IntentRejected(reason="not_allowed") as event:
                    self._refused.add(event.name)
                case _:
                    pass

    @property
    def is_complete(self) -> bool:
        """Whether every tool that was offered is still there."""
        return self._real is not None and all(self._real.get(name) is not None for name in self._offered)

    def specs(self) -> tuple[ToolSpec, ...]:
        if self._script.live and self._real is not None:
            return self._real.specs()
        return tuple(tool.spec for name in self._offered if (tool := self.get(name)) is not None)

    def get(self, name: str) -> Tool | None:
        real = self._real.get(name) if self._real is not None else None
        if self._script.live:
            return real
        if name not in self._offered and not self._was_run(name):
            return None
        effect = self._effects.get(name) or self._supposed_effect(name)
        return _ReplayTool(
            name, self._script, real or Remembered(name, effect, self._script), self._results, self._limit,
            runs=self._reads and real is not None and real.effect == "read" and real.timeout is not None,
        )  # fmt: skip

    def exists(self, name: str) -> bool:
        if self._script.live and self._real is not None:
            return self._real.exists(name)
        return name in self._refused or name in self._offered

    def _supposed_effect(self, name: str) -> Effect:
        """Of a tool that never ran: one that reads did not wait for other calls, nor they for it."""
        reply = self._script.last_reply()
        ids = [call.id for call in reply.calls] if reply else []
        events = [(event.type, getattr(event, "call_id", "")) for event in self._script.ahead()]
        first = {id_: next((at for at, (_, of) in enumerate(events) if of == id_), None) for id_ in ids}
        last = {
            of: at for at, (kind, of) in enumerate(events) if kind in ("tool_finished", "intent_rejected")
        }
        for place, call in enumerate(reply.calls if reply else ()):
            if call.name != name or (began := first[call.id]) is None:
                continue
            ends = (last.get(other, -1 if first[other] is None else len(events)) for other in ids[:place])
            if any(end > began for end in ends):
                return "read"
            done = last.get(call.id, len(events))
            if any((begun := first[other]) is not None and begun < done for other in ids[place + 1 :]):
                return "read"
        return "execute"

    def _was_run(self, name: str) -> bool:
        """Tools of servers that came late are not in the list of those that were offered first."""
        return any(isinstance(event, ToolStarted) and event.name == name for event in self._script.ahead())


class _ReplayTool:
    """One call of a tool. `runs`: it is really run, and what it gives is compared."""

    def __init__(
        self, name: str, script: TurnScript, known: Tool, results: ReplayResults, limit: int, *, runs: bool
    ) -> None:
        self._name = name
        self._script = script
        self._known = known
        self._results = results
        self._limit = limit
        self._runs = runs
        self._call_id = ""

    @property
    def spec(self) -> ToolSpec:
        return self._known.spec

    @property
    def effect(self) -> Effect:
        return self._known.effect

    @property
    def timeout(self) -> float | None:
        timed_out = (
            _TIMED_OUT.search(event.content)
            for event in self._script.ahead()
            if isinstance(event, ToolFinished) and (event.name, event.error_type) == (self._name, "timeout")
        )
        found = next(filter(None, timed_out), None) if isinstance(self._known, Remembered) else None
        return float(found[1]) if found else self._known.timeout

    @property
    def retries(self) -> int:
        if isinstance(self._known, Remembered):
            return sum(
                isinstance(event, ToolRetried) and event.call_id == self._call_id
                for event in (entry.event for entry in self._script.entries)
            )
        return self._known.retries

    @property
    def on_failure(self) -> OnFailure:
        return self._known.on_failure

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return self._known.validate(arguments)

    async def preview(self, arguments: Mapping[str, Any]) -> Preview | None:
        """Waits for its turn: a call that was interrupted before has no preview in the log."""
        asked = [
            event
            for event in self._script.ahead()
            if isinstance(event, ApprovalRequested) and event.name == self._name
        ]
        exact = [event for event in asked if event.arguments == arguments]
        event = await self._script.until(lambda event: event in (exact or asked))
        return event.preview if isinstance(event, ApprovalRequested) else None

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        self._call_id = context.call_id
        if self._runs and self._finishes():
            return await self._run(arguments, context)
        try:
            return await self._relive(arguments, context)
        except asyncio.CancelledError:
            # Which of several tools is stopped first is left to chance.
            await self._script.until_or_end(self._is_mine)
            raise

    async def _relive(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        while True:
            event = await self._script.until(self._is_mine)
            match event:
                case FileChanged():
                    await context.record(event)
                case ToolRetried():
                    content = whole(event.message, SHOWN_OF_A_RETRY, None)
                    return ToolResult(content, ok=False, retryable=True)
                case ToolFinished(error_type="interrupted"):
                    await self._script.never()
                case ToolFinished(error_type="timeout"):
                    raise DeadlineExceeded
                case ToolFinished():
                    return result_of(event, arguments, self._limit, self._results, self._script.end)
                case _:
                    raise AssertionError(event.type)

    def _finishes(self) -> bool:
        return any(
            isinstance(event, ToolFinished)
            and event.call_id == self._call_id
            and event.error_type in (None, "error")
            for event in self._script.ahead()
        )

    async def _run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        self._script.busy += 1
        try:
            result = await self._known.run(arguments, context)
        finally:
            self._script.busy -= 1
        await self._script.until(self._is_mine)
        return result

    def _is_mine(self, event: Event) -> bool:
        return isinstance(event, FileChanged | ToolRetried | ToolFinished) and event.call_id == self._call_id
