"""What a list of sessions shows of each: a fold over its log, kept beside it so that listing is fast."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent_chat.core.events import (
    Entry,
    JobReplied,
    LeaveReason,
    ModelReplied,
    ModelSwitched,
    ReplyDiscarded,
    SessionEnded,
    SessionResumed,
    SessionStarted,
    SessionTitled,
    TurnStarted,
    UserSaid,
)
from agent_chat.core.model import Usage

TITLE_LENGTH = 80


@dataclass(frozen=True, slots=True)
class SessionSummary:
    id: str
    started: float = 0.0
    """Seconds since the epoch."""
    last: float = 0.0
    """Seconds since the epoch: when something was last asked or answered, or the session was left."""
    workspace: str = ""
    model: str = ""
    """The model that was used last."""
    title: str = ""
    """The first line of the first user message, cut to `TITLE_LENGTH`; not safe to print as it is."""
    turns: int = 0
    usage: Usage = Usage()
    cost_usd: float | None = 0.0
    """None where the cost of any reply is unknown."""
    ended: LeaveReason | None = None
    """Why it was left; None while it runs and after a crash. Either way it can be resumed."""


def summarize(summary: SessionSummary, entry: Entry) -> SessionSummary:
    """The summary after one more entry; the very same object where the entry changes nothing in it."""
    match entry.event:
        case SessionStarted() as event:
            return replace(
                summary, started=entry.at, last=entry.at, workspace=event.workspace, model=event.model
            )
        case SessionResumed() as event:
            return replace(summary, last=entry.at, model=event.model, ended=None)
        case SessionEnded() as event:
            return replace(summary, last=entry.at, ended=event.reason)
        case TurnStarted():
            return replace(summary, last=entry.at, turns=max(summary.turns, entry.turn))
        case UserSaid() as event if not summary.title:
            return replace(summary, title=_first_line(event.text))
        case SessionTitled() as event:
            return replace(summary, title=_first_line(event.title))
        case ModelReplied() | ReplyDiscarded() | JobReplied() as event:
            return replace(
                summary,
                last=entry.at,
                usage=summary.usage + (event.usage or Usage()),
                cost_usd=_added(summary.cost_usd, event.cost_usd),
            )
        case ModelSwitched() as event:
            return replace(summary, model=event.to_model)
        case _:
            return summary


def _added(total: float | None, cost: float | None) -> float | None:
    return None if total is None or cost is None else total + cost


def _first_line(text: str) -> str:
    line = next((stripped for line in text[:4000].splitlines() if (stripped := line.strip())), "")
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1] + "…"
