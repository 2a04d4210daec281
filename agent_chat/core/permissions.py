"""What may run without asking anybody."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from agent_chat.core.observation import Effect
from agent_chat.core.ports import Approval, ApprovalRequest, Approved, Denied

ALL_EFFECTS: frozenset[Effect] = frozenset(("read", "write", "execute", "network"))


@dataclass(frozen=True, slots=True)
class AllowEffects:
    """An approver that allows some effects and denies the others: for where nobody can be asked."""

    effects: Collection[Effect]

    async def review(self, request: ApprovalRequest) -> Approval:
        if request.effect in self.effects:
            return Approved()
        return Denied(
            f"Denied: {request.name} has effects ({request.effect}), and nobody can be asked to approve it."
        )
