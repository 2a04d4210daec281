"""What may run without asking anybody."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from agent_chat.core.approval import (
    Allowed,
    Approval,
    ApprovalRequest,
    Denied,
    NeedsPerson,
    Preview,
    Verdict,
)
from agent_chat.core.observation import Effect

ALL_EFFECTS: frozenset[Effect] = frozenset(("read", "write", "execute", "network"))


@dataclass(frozen=True, slots=True)
class AllowEffects:
    """An approver that allows some effects and denies the others: for where nobody can be asked."""

    effects: Collection[Effect]

    def judge(self, request: ApprovalRequest) -> Verdict:
        if request.effect in self.effects:
            return Allowed()
        return NeedsPerson(f"{request.name} has effects ({request.effect})")

    async def ask(self, request: ApprovalRequest, preview: Preview | None, verdict: NeedsPerson) -> Approval:
        return Denied(f"Denied: {verdict.why}, and nobody can be asked to approve it.")
