"""How a model call can fail, and what each way of failing means. The one place where that is decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent_chat.core.outcome import StopReason

FailureKind = Literal[
    "auth",
    "quota",
    "not_found",
    "request",
    "unsupported_parameter",
    "context_overflow",
    "content_filtered",
    "rate_limited",
    "unavailable",
    "timeout",
    "connection",
    "protocol",
]


@dataclass(frozen=True, slots=True)
class FailurePolicy:
    retry: bool
    """Whether the same request may pass a moment later."""
    fall_back: bool
    """Whether another model may succeed where this one failed."""
    reason: StopReason
    """Why the turn stops when neither helped."""


POLICIES: dict[FailureKind, FailurePolicy] = {
    "auth": FailurePolicy(False, True, "model_auth"),
    "quota": FailurePolicy(False, True, "model_auth"),
    "not_found": FailurePolicy(False, True, "model_request"),
    "request": FailurePolicy(False, False, "model_request"),
    "unsupported_parameter": FailurePolicy(False, True, "model_request"),
    "context_overflow": FailurePolicy(False, False, "context_overflow"),
    "content_filtered": FailurePolicy(False, True, "content_filtered"),
    "rate_limited": FailurePolicy(True, True, "model_rate_limited"),
    "unavailable": FailurePolicy(True, True, "model_unavailable"),
    "timeout": FailurePolicy(True, True, "model_unavailable"),
    "connection": FailurePolicy(True, True, "model_unavailable"),
    "protocol": FailurePolicy(True, True, "model_unavailable"),
}


class ModelFailure(Exception):
    """A model call failed. Raised at the model boundary only, and mapped there once."""

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        model: str = "",
        status: int | None = None,
        retry_after: float | None = None,
        parameter: str | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.message = message
        """For people: what happened and, where known, what to do. Free of credentials."""
        self.model = model
        self.status = status
        """The HTTP status, where there was one."""
        self.retry_after = retry_after
        """Seconds that the provider asked to wait."""
        self.parameter = parameter
        """The refused parameter of an `unsupported_parameter` failure."""

    @property
    def policy(self) -> FailurePolicy:
        return POLICIES[self.kind]


class UserError(Exception):
    """Something the user can mend: wrong usage or configuration. Ends the program with code 2.

    The message says what happened and why; `hint` says what to do next.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
