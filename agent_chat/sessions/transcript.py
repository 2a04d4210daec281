"""A session turn by turn, as people want to read it: a fold over its entries."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from agent_chat.core.events import (
    Entry,
    Event,
    IntentRejected,
    ModelReplied,
    ReplyDiscarded,
    ReplyInterrupted,
    Rewound,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    UserSaid,
)
from agent_chat.core.model import Usage
from agent_chat.core.observation import ErrorType
from agent_chat.core.outcome import OutcomeKind, StopReason


@dataclass(frozen=True, slots=True)
class ToolUse:
    """An intent and what became of it."""

    call_id: str
    name: str
    arguments: str
    """JSON text as it was run, or as the model wrote it where it was not."""
    ok: bool | None = None
    """None where the result is not in the log: the call was never started, or its outcome is unknown."""
    error_type: ErrorType | None = None
    content: str = ""
    """What the model was told."""
    duration_s: float | None = None


@dataclass(slots=True)
class TurnRecord:
    number: int
    started: float
    """Seconds since the epoch."""
    said: list[str] = field(default_factory=list[str])
    """The user message, then those that were given while the turn ran."""
    answer: str = ""
    """Of a turn without an end: the last text of the model."""
    kind: OutcomeKind | None = None
    """None where the turn has no end: it runs, or the program died."""
    reason: StopReason | None = None
    evidence: str = ""
    tools: list[ToolUse] = field(default_factory=list[ToolUse])
    model: str = ""
    iterations: int = 0
    usage: Usage = Usage()
    cost_usd: float | None = 0.0
    """None where the cost of any reply is unknown."""
    duration_s: float | None = None
    taken_back: bool = False
    """Whether the user went back to before it: the model does not see it any more."""


def turns_of(entries: Iterable[Entry]) -> list[TurnRecord]:
    """The turns in order. What was recorded outside of any turn is in none of them."""
    turns: list[TurnRecord] = []
    for entry in entries:
        match entry.event:
            case TurnStarted():
                turns.append(TurnRecord(entry.turn, entry.at))
            case Rewound(turns=count):
                for turn in [turn for turn in turns if not turn.taken_back][-count:]:
                    turn.taken_back = True
            case event if turns:
                turns[-1].iterations = max(turns[-1].iterations, entry.iteration)
                _add(turns[-1], event)
            case _:
                pass
    return turns


def _add(turn: TurnRecord, event: Event) -> None:
    match event:
        case UserSaid():
            turn.said.append(event.text)
        case ModelReplied():
            _count(turn, event)
            turn.model = event.model
            turn.answer = event.text or turn.answer
            turn.tools.extend(ToolUse(call.id, call.name, call.arguments) for call in event.calls)
        case ReplyDiscarded():
            _count(turn, event)
        case ReplyInterrupted():
            turn.answer = event.text or turn.answer
        case ToolStarted():
            _settle(turn, event.call_id, arguments=json.dumps(event.arguments, ensure_ascii=False))
        case ToolFinished():
            _settle(
                turn,
                event.call_id,
                ok=event.ok,
                error_type=event.error_type,
                content=event.content,
                duration_s=event.duration_s,
            )
        case IntentRejected():
            _settle(turn, event.call_id, ok=False, error_type=event.reason, content=event.content)
        case TurnEnded():
            turn.kind, turn.reason, turn.evidence = event.kind, event.reason, event.evidence
            turn.answer, turn.duration_s = event.answer, event.duration_s
        case _:
            pass


def _count(turn: TurnRecord, reply: ModelReplied | ReplyDiscarded) -> None:
    turn.usage = turn.usage + (reply.usage or Usage())
    known = turn.cost_usd is not None and reply.cost_usd is not None
    turn.cost_usd = (turn.cost_usd or 0) + (reply.cost_usd or 0) if known else None


def _settle(turn: TurnRecord, call_id: str, **changes: object) -> None:
    """Call ids may be used again by a later reply: the last one is meant."""
    for index in range(len(turn.tools) - 1, -1, -1):
        if turn.tools[index].call_id == call_id:
            turn.tools[index] = replace(turn.tools[index], **changes)
            return
