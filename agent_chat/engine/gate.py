"""The gate that every intent passes: known? allowed? arguments fit? approved? within budget?"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from agent_chat.core.approval import (
    Allowed,
    ApprovalRequest,
    Denied,
    NeedsPerson,
    Preview,
    Refused,
    Revision,
)
from agent_chat.core.budget import uses
from agent_chat.core.decision import was_cut_off
from agent_chat.core.events import ApprovalRequested, ApprovalResolved
from agent_chat.core.messages import ToolCall, parse_arguments
from agent_chat.core.model import Reply
from agent_chat.core.observation import Rejection, excerpt
from agent_chat.core.ports import Tool
from agent_chat.core.text import storable
from agent_chat.engine.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Cleared:
    """An intent that passed the gate."""

    tool: Tool
    arguments: Mapping[str, Any]
    changed: bool = False
    """Whether a person changed the arguments."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """An intent that must not run, and what the model is told of it."""

    reason: Rejection
    message: str
    final: bool = False
    """Whether the turn cannot go on."""


async def gate(runtime: Runtime, reply: Reply, call: ToolCall) -> Cleared | Rejected:
    """Lets an intent through with the arguments to run it with, or says why not."""
    tool = runtime.toolbox.get(call.name)
    if tool is None:
        return _reject_name(runtime, call.name)
    arguments = _read_arguments(reply, call, tool)
    if isinstance(arguments, Rejected):
        return arguments
    cleared = await _approve(runtime, ApprovalRequest(call.id, call.name, arguments, tool.effect), tool)
    if isinstance(cleared, Rejected):
        return cleared
    for limits, spent, scope in (
        (runtime.rules.turn, runtime.journal.state.turn_spent, "turn"),
        (runtime.rules.session, runtime.journal.state.session_spent, "session"),
    ):
        for use in uses(limits, spent, 0):
            if use.limit == "tool_calls" and use.reached:
                return Rejected("over_budget", f"Not run: the {use.describe(scope)} is reached.")
    return cleared


def _reject_name(runtime: Runtime, name: str) -> Rejected:
    names = [spec.name for spec in runtime.toolbox.specs()]
    offered = f"The tools are: {', '.join(names)}." if names else "There are no tools in this session."
    if runtime.toolbox.exists(name):
        return Rejected("not_allowed", f"The tool {name!r} is not allowed in this session. {offered}")
    near = difflib.get_close_matches(name, names, n=1)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    return Rejected("unknown_tool", f"Unknown tool {name!r}.{guess} {offered}")


def _read_arguments(reply: Reply, call: ToolCall, tool: Tool) -> dict[str, Any] | Rejected:
    if was_cut_off(reply, call):
        return Rejected(
            "cut_off",
            "Not run: the reply hit the output limit in the middle of this call. Issue a shorter call again.",
        )
    arguments = parse_arguments(call.arguments)
    if arguments is None:
        received = excerpt(call.arguments, 500).text
        return Rejected("invalid_arguments", f"Not run: the arguments are not a JSON object: {received}")
    try:
        return tool.validate(arguments)
    except ValueError as error:
        return Rejected("invalid_arguments", f"Not run: {error}")


async def _approve(runtime: Runtime, request: ApprovalRequest, tool: Tool) -> Cleared | Rejected:
    verdict = runtime.approver.judge(request)
    match verdict:
        case Allowed():
            return Cleared(tool, request.arguments)
        case Refused():
            return Rejected("denied", verdict.message, verdict.final)
        case NeedsPerson():
            return await _ask(runtime, request, tool, verdict)


async def _ask(
    runtime: Runtime, request: ApprovalRequest, tool: Tool, verdict: NeedsPerson
) -> Cleared | Rejected:
    preview = await _preview(tool, request.arguments)
    await runtime.journal.record(
        ApprovalRequested(
            call_id=request.call_id,
            name=request.name,
            arguments=dict(request.arguments),
            effect=request.effect,
            preview=preview,
            why=verdict.why,
        )
    )

    async def revise(arguments: Mapping[str, Any]) -> Revision:
        revised = _revised(runtime, request, tool, arguments)
        return Revision(revised, await _preview(tool, revised))

    approval = await runtime.approver.ask(request, preview, verdict, revise)
    if isinstance(approval, Denied):
        return await _denied(runtime, request, Rejected("denied", storable(approval.message), approval.final))
    changed: dict[str, Any] | None = None
    if approval.arguments is not None and approval.arguments != request.arguments:
        try:
            changed = _revised(runtime, request, tool, approval.arguments)
        except ValueError as error:
            message = f"Not run: the user changed the arguments, and as they are now: {error}"
            return await _denied(runtime, request, Rejected("denied", storable(message)))
    await runtime.journal.record(
        ApprovalResolved(
            call_id=request.call_id,
            name=request.name,
            allowed=True,
            duration=approval.duration,
            arguments=changed,
        )
    )
    return Cleared(tool, request.arguments) if changed is None else Cleared(tool, changed, changed=True)


async def _denied(runtime: Runtime, request: ApprovalRequest, rejected: Rejected) -> Rejected:
    await runtime.journal.record(
        ApprovalResolved(call_id=request.call_id, name=request.name, allowed=False, message=rejected.message)
    )
    return rejected


def _revised(
    runtime: Runtime, request: ApprovalRequest, tool: Tool, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Arguments that a person wrote, as the tool wants them. Raises ValueError: see `Revise`."""
    revised = tool.validate(arguments)
    verdict = runtime.approver.judge(replace(request, arguments=revised))
    if isinstance(verdict, Refused):
        raise ValueError(verdict.message)
    return revised


async def _preview(tool: Tool, arguments: Mapping[str, Any]) -> Preview | None:
    try:
        return await tool.preview(arguments)
    except Exception as error:
        # It will fail in the same way when it runs; the person who is asked should know.
        return Preview("text", f"It would fail: {error}")
