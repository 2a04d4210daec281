"""Rules and a person that decide as the log says."""

from __future__ import annotations

from agent_chat.core.approval import (
    Allowed,
    Approval,
    ApprovalRequest,
    Approved,
    Denied,
    NeedsPerson,
    Preview,
    Refused,
    Revise,
    Verdict,
)
from agent_chat.core.events import ApprovalRequested, ApprovalResolved, IntentRejected, ToolStarted
from agent_chat.core.ports import Approver
from agent_chat.engine.replay.script import TurnScript


class ReplayApprover:
    """An `Approver`; `real` decides where the loop goes on for real."""

    def __init__(self, script: TurnScript, real: Approver | None = None) -> None:
        self._script = script
        self._real = real

    def judge(self, request: ApprovalRequest) -> Verdict:
        if self._script.live and self._real is not None:
            return self._real.judge(request)
        for event in self._script.ahead():
            match event:
                case ApprovalRequested(call_id=request.call_id, why=why):
                    return NeedsPerson(why)
                case IntentRejected(call_id=request.call_id, reason="denied"):
                    return Refused(event.content, self._is_final(request.name, event.content))
                case IntentRejected(call_id=request.call_id, reason="interrupted"):
                    return NeedsPerson()  # it came as far as the preview
                case ToolStarted(call_id=request.call_id):
                    return Allowed()
                case _:
                    pass
        return Allowed()

    async def ask(
        self, request: ApprovalRequest, preview: Preview | None, verdict: NeedsPerson, revise: Revise
    ) -> Approval:
        if self._script.live and self._real is not None:
            return await self._real.ask(request, preview, verdict, revise)
        event = await self._script.until(
            lambda event: isinstance(event, ApprovalResolved) and event.call_id == request.call_id
        )
        assert isinstance(event, ApprovalResolved)
        if event.allowed:
            return Approved(event.duration, event.arguments)
        return Denied(event.message, self._is_final(request.name, event.message))

    def _is_final(self, name: str, message: str) -> bool:
        end = self._script.end
        return end is not None and (end.reason, end.evidence) == ("permission_denied", f"{name}: {message}")
