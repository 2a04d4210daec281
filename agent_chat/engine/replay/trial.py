"""Another model on a turn of the log: as long as it asks for the same, it observes the same."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_chat.core.approval import (
    Allowed,
    Approval,
    ApprovalRequest,
    NeedsPerson,
    Preview,
    Revise,
    Verdict,
)
from agent_chat.core.events import Entry, ToolFinished, ToolStarted
from agent_chat.core.model import ToolSpec
from agent_chat.core.observation import Effect, OnFailure, ToolResult
from agent_chat.core.ports import Approver, Tool, Toolbox, ToolContext
from agent_chat.engine.replay.remembered import ReplayResults, result_of
from agent_chat.engine.replay.script import TurnScript


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that was run, or would have been."""

    name: str
    arguments: str
    """Canonical JSON."""

    def __str__(self) -> str:
        return f"{self.name}({self.arguments})"


class Observations:
    """What the calls of a logged turn observed, by what was asked.

    `new` is the first call that the log has no observation for.
    """

    def __init__(self, entries: Sequence[Entry], limit: int) -> None:
        """`limit`: characters of a result that the model was shown."""
        script = TurnScript(entries)
        self._limit = limit
        self._end = script.end
        self.results = ReplayResults(script)
        self.new: Asked | None = None
        self._known: dict[Asked, list[ToolFinished]] = {}
        started: dict[str, Asked] = {}
        for entry in entries:
            match entry.event:
                case ToolStarted() as event:
                    started[event.call_id] = asked(event.name, event.arguments)
                case ToolFinished(error_type="interrupted"):
                    pass
                case ToolFinished() as event if event.call_id in started:
                    self._known.setdefault(started.pop(event.call_id), []).append(event)
                case _:
                    pass

    def knows(self, call: Asked) -> bool:
        return call in self._known

    def observe(self, call: Asked, arguments: Mapping[str, Any]) -> ToolResult:
        """The same call again observes what it did the next time; the last time again and again."""
        observed = self._known[call]
        event = observed.pop(0) if len(observed) > 1 else observed[0]
        return result_of(event, arguments, self._limit, self.results, self._end)


def asked(name: str, arguments: Mapping[str, Any]) -> Asked:
    return Asked(name, json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=str))


class TrialToolbox:
    """Tools that observe what the log has. A call that it lacks ends the turn, or, `live`, really runs."""

    def __init__(self, toolbox: Toolbox, observations: Observations, *, live: bool) -> None:
        self._toolbox = toolbox
        self._observations = observations
        self._live = live

    def specs(self) -> tuple[ToolSpec, ...]:
        return self._toolbox.specs()

    def get(self, name: str) -> Tool | None:
        tool = self._toolbox.get(name)
        return None if tool is None else _TrialTool(tool, self._observations, live=self._live)

    def exists(self, name: str) -> bool:
        return self._toolbox.exists(name)


class _TrialTool:
    def __init__(self, tool: Tool, observations: Observations, *, live: bool) -> None:
        self._tool = tool
        self._observations = observations
        self._live = live

    @property
    def spec(self) -> ToolSpec:
        return self._tool.spec

    @property
    def effect(self) -> Effect:
        return self._tool.effect

    @property
    def timeout(self) -> float | None:
        return self._tool.timeout

    @property
    def retries(self) -> int:
        return self._tool.retries if self._live else 0

    @property
    def on_failure(self) -> OnFailure:
        return self._tool.on_failure

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return self._tool.validate(arguments)

    async def preview(self, arguments: Mapping[str, Any]) -> Preview | None:
        return await self._tool.preview(arguments)

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        call = asked(self.spec.name, arguments)
        if self._observations.knows(call):
            return self._observations.observe(call, arguments)
        self._observations.new = self._observations.new or call
        if self._live:
            return await self._tool.run(arguments, context)
        return ToolResult("The log has no such call, and nothing is run here.", ok=False, fatal=True)


class TrialApprover:
    """What is in the log needs no approval; for the rest the rules hold, where it really runs."""

    def __init__(self, approver: Approver, observations: Observations, *, live: bool) -> None:
        self._approver = approver
        self._observations = observations
        self._live = live

    def judge(self, request: ApprovalRequest) -> Verdict:
        if not self._live or self._observations.knows(asked(request.name, request.arguments)):
            return Allowed()
        return self._approver.judge(request)

    async def ask(
        self, request: ApprovalRequest, preview: Preview | None, verdict: NeedsPerson, revise: Revise
    ) -> Approval:
        return await self._approver.ask(request, preview, verdict, revise)


def asked_in(entries: Sequence[Entry]) -> list[Asked]:
    """The calls of a turn that were run, in order."""
    return [
        asked(entry.event.name, entry.event.arguments)
        for entry in entries
        if isinstance(entry.event, ToolStarted)
    ]
