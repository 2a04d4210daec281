"""A session in which nothing is done: what reads runs, what has effects says what it would do."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agent_chat.core.approval import (
    Allowed,
    Approval,
    ApprovalRequest,
    NeedsPerson,
    Preview,
    Refused,
    Verdict,
)
from agent_chat.core.model import ToolSpec
from agent_chat.core.observation import Effect, OnFailure, ToolResult
from agent_chat.core.ports import Approver, Tool, Toolbox, ToolContext

NOT_DONE = "Dry run: this was not done. Go on as if it had been. It would have been:"


class DryRun:
    """A toolbox whose tools with effects do nothing.

    `vouches`: whether the user believes what a tool of somebody else's says of its effect.
    """

    def __init__(self, toolbox: Toolbox, vouches: Callable[[str], bool]) -> None:
        self._toolbox = toolbox
        self._vouches = vouches

    def specs(self) -> tuple[ToolSpec, ...]:
        return self._toolbox.specs()

    def get(self, name: str) -> Tool | None:
        tool = self._toolbox.get(name)
        if tool is None or (tool.effect == "read" and self._is_vouched(name)):
            return tool
        return _Withheld(name, tool)

    def exists(self, name: str) -> bool:
        return self._toolbox.exists(name)

    def _is_vouched(self, name: str) -> bool:
        return not name.startswith("mcp__") or self._vouches(name)


@dataclass(frozen=True, slots=True)
class _Withheld:
    name: str
    tool: Tool

    @property
    def spec(self) -> ToolSpec:
        return self.tool.spec

    @property
    def effect(self) -> Effect:
        return "execute" if self.tool.effect == "read" else self.tool.effect

    @property
    def timeout(self) -> float | None:
        return self.tool.timeout

    @property
    def retries(self) -> int:
        return 0

    @property
    def on_failure(self) -> OnFailure:
        return self.tool.on_failure

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return self.tool.validate(arguments)

    async def preview(self, arguments: Mapping[str, Any]) -> Preview | None:
        return await self.tool.preview(arguments)

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        try:
            preview = await self.tool.preview(arguments)
        except Exception as error:
            return ToolResult(f"Dry run: it would have failed: {error}", ok=False)
        if preview is None:
            return ToolResult(
                f"{NOT_DONE}\n{self.name} {json.dumps(arguments, ensure_ascii=False, default=str)}"
            )
        where = f" ({preview.where})" if preview.where else ""
        return ToolResult(f"{NOT_DONE}{where}\n{preview.text}")


@dataclass(frozen=True, slots=True)
class NothingToApprove:
    """The approver of a dry run: what a person would be asked for is not done, so nobody is asked."""

    approver: Approver

    def judge(self, request: ApprovalRequest) -> Verdict:
        verdict = self.approver.judge(request)
        match verdict:
            case NeedsPerson():
                return Allowed(verdict.rule)
            case Allowed() | Refused():
                return verdict

    async def ask(self, *_: Any, **__: Any) -> Approval:
        raise AssertionError("a dry run asks nobody")
