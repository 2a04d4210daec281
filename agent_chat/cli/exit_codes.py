"""What the program's end tells a script."""

from __future__ import annotations

from enum import IntEnum

from agent_chat.core.outcome import KINDS, StopReason


class ExitCode(IntEnum):
    COMPLETED = 0
    FAILED = 1
    USAGE = 2
    """Wrong usage or configuration; nothing was sent."""
    DEGRADED = 3
    NEEDS_PERSON = 4
    TRY_LATER = 75
    HANGUP = 129
    INTERRUPTED = 130
    BROKEN_PIPE = 141
    TERMINATED = 143


def exit_code(reason: StopReason) -> ExitCode:
    """The code with which a one-shot ends whose turn stopped for this reason."""
    match reason:
        case "interrupted":
            return ExitCode.INTERRUPTED
        case "terminated":
            return ExitCode.TERMINATED
        case "model_unavailable" | "model_rate_limited":
            return ExitCode.TRY_LATER
        case "permission_denied" | "awaiting_approval":
            return ExitCode.NEEDS_PERSON
        case _:
            pass
    match KINDS[reason]:
        case "completed":
            return ExitCode.COMPLETED
        case "degraded":
            return ExitCode.DEGRADED
        case "failed" | "cancelled" | "suspended":
            return ExitCode.FAILED
