"""What the program's end tells a script."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from agent_chat.core.outcome import KINDS, StopReason
from agent_chat.ui.stdout import Output


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


def delivered(code: int, stdout: Output, tell: Callable[[str], None]) -> int:
    """The code of a run, given what became of its answer: a reader that went away is none of a script's
    troubles, a full disk is."""
    if stdout.gone:
        return ExitCode.BROKEN_PIPE
    if stdout.error is None:
        return code
    tell(f"The answer cannot be written to standard output: {stdout.error}")
    return ExitCode.FAILED
