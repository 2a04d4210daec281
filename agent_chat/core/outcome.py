"""How a turn ends: for exactly one of a closed set of reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

OutcomeKind = Literal["completed", "degraded", "cancelled", "failed", "suspended"]
StopReason = Literal[
    "final_answer",
    "chat_ended",
    "max_iterations",
    "budget_tokens",
    "budget_cost",
    "budget_time",
    "budget_tool_calls",
    "repeated_calls",
    "output_truncated",
    "interrupted",
    "terminated",
    "invalid_intents",
    "permission_denied",
    "tool_failed",
    "model_auth",
    "model_request",
    "model_unavailable",
    "model_rate_limited",
    "context_overflow",
    "content_filtered",
    "empty_reply",
    "verification_failed",
    "awaiting_approval",
]
CancelReason = Literal["interrupted", "terminated"]

KINDS: dict[StopReason, OutcomeKind] = {
    "final_answer": "completed",
    "chat_ended": "completed",
    "max_iterations": "degraded",
    "budget_tokens": "degraded",
    "budget_cost": "degraded",
    "budget_time": "degraded",
    "budget_tool_calls": "degraded",
    "repeated_calls": "degraded",
    "output_truncated": "degraded",
    "interrupted": "cancelled",
    "terminated": "cancelled",
    "invalid_intents": "failed",
    "permission_denied": "failed",
    "tool_failed": "failed",
    "model_auth": "failed",
    "model_request": "failed",
    "model_unavailable": "failed",
    "model_rate_limited": "failed",
    "context_overflow": "failed",
    "content_filtered": "failed",
    "empty_reply": "failed",
    "verification_failed": "failed",
    "awaiting_approval": "suspended",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ended."""

    reason: StopReason
    answer: str = ""
    """The final answer, or the best partial one; empty where there is none."""
    evidence: str = ""
    """For people: on what ground the turn stopped."""

    @property
    def kind(self) -> OutcomeKind:
        return KINDS[self.reason]
