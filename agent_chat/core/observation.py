"""What the model is told of an intent's result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Effect = Literal["read", "write", "execute", "network"]
"""What a tool may do to the world. `read` is the only one that is free of side effects."""

OnFailure = Literal["observe", "retry", "fail"]
"""What a tool's failure does: the model observes it, it is tried again first, or the turn fails."""

Rejection = Literal[
    "unknown_tool", "not_allowed", "invalid_arguments", "cut_off", "denied", "over_budget", "interrupted"
]
"""Why an intent was not run."""

ErrorType = Literal["error", "timeout", "interrupted", "unknown_outcome"] | Rejection


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gives back. Failures are values; a tool that raises is turned into one."""

    content: str
    ok: bool = True
    retryable: bool = False
    """Whether the same call may succeed a moment later."""
    fatal: bool = False
    """Whether the turn cannot go on after this failure."""
    ends_chat: bool = False
    """The model asked for the session to end after this turn."""


@dataclass(frozen=True, slots=True)
class Observation:
    """Facts for the next decision, bounded in size."""

    ok: bool
    content: str
    error_type: ErrorType | None = None
    retryable: bool = False


NOT_STARTED = "Not run: the turn was stopped before this call started."
UNKNOWN_OUTCOME = (
    "Unknown outcome: the program ended while this call was running. It may or may not have had its effect; "
    "check before doing it again."
)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The part of a text that is shown."""

    text: str
    elided: int
    """Characters left out; 0 when the text is whole."""


def excerpt(text: str, limit: int, *, read_on: str = "") -> Excerpt:
    """Head and tail of a text of more than `limit` characters; the middle is named with its size.

    `read_on` says how to read the rest; it is put into the mark in the middle.
    """
    if len(text) <= limit:
        return Excerpt(text, 0)
    head = limit * 2 // 3
    tail = limit - head
    elided = len(text) - limit
    mark = f"\n[… {elided:,} of {len(text):,} characters left out{'; ' + read_on if read_on else ''} …]\n"
    return Excerpt(text[:head] + mark + text[-tail:], elided)
