"""What happened, one fact an event, written once. The log of them is the source of truth.

An event is a payload; an `Entry` is an event with its place: when, and in which session, turn and
iteration. Both survive JSON. A type that this version does not know is kept as `UnknownEvent`.
"""

# Annotations stay real types: this file is read at every start, and evaluating them takes milliseconds.
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from agent_chat.core.approval import Duration, Preview
from agent_chat.core.context_events import (
    CacheMissed,
    CompactionFailed,
    CompactionStarted,
    CompactionUndone,
    ContextCompacted,
    ContextShortened,
    ContextThinned,
    JobReplied,
    SessionTitled,
    TurnPinned,
)
from agent_chat.core.errors import FailureKind
from agent_chat.core.event_base import EventBase
from agent_chat.core.messages import ToolCall
from agent_chat.core.model import FinishReason, Usage
from agent_chat.core.observation import Effect, ErrorType, Rejection
from agent_chat.core.outcome import OutcomeKind, StopReason

SCHEMA_VERSION = 1
"""Raised when the meaning of an event changes; adding a type or an optional field does not."""

LeaveReason = Literal["exit", "eof", "end_chat", "interrupted", "terminated", "one_shot"]
DiscardReason = Literal["empty", "filtered", "no_summary"]
LimitName = Literal["iterations", "tool_calls", "tokens", "cost", "time"]
Scope = Literal["turn", "session"]
Purpose = Literal["answer", "summary"]


class SessionStarted(EventBase):
    type: Literal["session_started"] = "session_started"
    schema_version: int = SCHEMA_VERSION
    program_version: str
    workspace: str
    """Absolute path of the folder that file tools may see."""
    system: str
    """The system prompt; byte for byte what every request starts with."""
    model: str
    tools: tuple[str, ...]
    dry_run: bool = False
    """Whether tools with effects only say what they would do."""
    rules: dict[str, Any] = Field(default_factory=dict[str, Any])
    """When a turn stops, and how much of anything there may be: the fields of the engine's rules."""


class SessionResumed(EventBase):
    type: Literal["session_resumed"] = "session_resumed"
    program_version: str
    model: str
    tools: tuple[str, ...]
    system: str | None = None
    """The new system prompt, where the user gave another one."""
    dry_run: bool = False
    rules: dict[str, Any] = Field(default_factory=dict[str, Any])


class SessionEnded(EventBase):
    type: Literal["session_ended"] = "session_ended"
    reason: LeaveReason


class UserSaid(EventBase):
    """A user message. A turn starts with one; further ones are given while it runs."""

    type: Literal["user_message"] = "user_message"
    text: str


class TurnStarted(EventBase):
    type: Literal["turn_started"] = "turn_started"


class TurnEnded(EventBase):
    type: Literal["turn_ended"] = "turn_ended"
    kind: OutcomeKind
    reason: StopReason
    answer: str
    evidence: str
    iterations: int
    tool_calls: int
    usage: Usage
    cost_usd: float | None
    """None where the cost of any reply of the turn is unknown."""
    duration_s: float


class IterationStarted(EventBase):
    type: Literal["iteration_started"] = "iteration_started"


class IterationEnded(EventBase):
    type: Literal["iteration_ended"] = "iteration_ended"
    duration_s: float


class AttemptStarted(EventBase):
    """One request goes out to a model."""

    type: Literal["attempt_started"] = "attempt_started"
    model: str
    attempt: int
    """1 for the first request to this model in this iteration."""


class AttemptFailed(EventBase):
    """The request failed; whatever had been streamed is discarded."""

    type: Literal["attempt_failed"] = "attempt_failed"
    model: str
    attempt: int
    failure: FailureKind
    message: str
    status: int | None = None
    discarded: bool = False
    """Whether something had already been shown."""


class RetryWaiting(EventBase):
    """Ended by the next `attempt_started`."""

    type: Literal["retry_waiting"] = "retry_waiting"
    model: str
    seconds: float
    message: str


class ModelSwitched(EventBase):
    type: Literal["model_switched"] = "model_switched"
    from_model: str
    to_model: str
    message: str


class ParameterDropped(EventBase):
    """A parameter was left out because this model does not take it."""

    type: Literal["parameter_dropped"] = "parameter_dropped"
    model: str
    parameter: str
    message: str


class ModelReplied(EventBase):
    """A complete reply; in the log before any of its tools starts."""

    type: Literal["model_replied"] = "model_replied"
    model: str
    text: str
    calls: tuple[ToolCall, ...] = ()
    finish_reason: FinishReason
    usage: Usage | None
    cost_usd: float | None
    reasoning: str = ""
    extras: dict[str, Any] = Field(default_factory=dict[str, Any])
    purpose: Purpose = "answer"
    duration_s: float


class ReplyDiscarded(EventBase):
    """A reply that is of no use and stays out of the messages; its usage still counts."""

    type: Literal["reply_discarded"] = "reply_discarded"
    model: str
    reason: DiscardReason
    usage: Usage | None
    cost_usd: float | None


class ReplyInterrupted(EventBase):
    """The user stopped an answer; what had been shown of it is kept."""

    type: Literal["reply_interrupted"] = "reply_interrupted"
    text: str


class IntentRejected(EventBase):
    """An intent that was not run, and what the model is told instead of a result."""

    type: Literal["intent_rejected"] = "intent_rejected"
    call_id: str
    name: str
    reason: Rejection
    content: str


class ApprovalRequested(EventBase):
    """A person is asked; ended by `approval_resolved`."""

    type: Literal["approval_requested"] = "approval_requested"
    call_id: str
    name: str
    arguments: dict[str, Any]
    effect: Effect
    preview: Preview | None
    why: str


class ApprovalResolved(EventBase):
    type: Literal["approval_resolved"] = "approval_resolved"
    call_id: str
    name: str
    allowed: bool
    duration: Duration = "once"
    arguments: dict[str, Any] | None = None
    """As the user changed them; None as proposed."""
    message: str = ""
    """What the model is told where it was not allowed."""


class ToolStarted(EventBase):
    """Written before the tool runs."""

    type: Literal["tool_started"] = "tool_started"
    call_id: str
    name: str
    arguments: dict[str, Any]
    """As validated and run, which may differ from what the model wrote."""
    effect: Effect
    idempotency_key: str


class ToolRetried(EventBase):
    type: Literal["tool_retried"] = "tool_retried"
    call_id: str
    name: str
    attempt: int
    """The attempt that comes now; 2 for the first retry."""
    seconds: float
    message: str


class ToolFinished(EventBase):
    """Written as soon as the tool is done."""

    type: Literal["tool_finished"] = "tool_finished"
    call_id: str
    name: str
    ok: bool
    content: str
    """What the model is shown: bounded, head and tail."""
    error_type: ErrorType | None = None
    retryable: bool = False
    ends_chat: bool = False
    size: int
    """Characters of the whole result."""
    stored: str | None = None
    """The id under which the whole result can be read, where `content` is only part of it."""
    duration_s: float


class FileChanged(EventBase):
    """A tool is about to change a file; written before it does, when the previous content is kept."""

    type: Literal["file_changed"] = "file_changed"
    call_id: str
    workspace: str
    """Absolute path of the folder that `path` is in."""
    path: str
    """Relative to the workspace, with forward slashes and links followed."""
    before: str | None
    """The id of the previous content, which is its SHA-256; None where there was no file."""
    after: str
    """The SHA-256 of the content that is written."""
    folders: tuple[str, ...] = ()
    """Folders that are made for it, the outermost first."""
    added: int
    """Lines."""
    removed: int
    """Lines."""


class ChangeUndone(EventBase):
    """The user took a change back: the file is as it was before."""

    type: Literal["change_undone"] = "change_undone"
    change: int
    """The seq of the `file_changed` entry."""
    path: str
    before: str | None
    """What was there until now: the id of a content that is kept; None where there was no file."""
    after: str | None
    """What is there now; None where there is no file."""


class Rewound(EventBase):
    """The user took the latest turns back: the messages are those from before them. The log keeps them."""

    type: Literal["rewound"] = "rewound"
    to_turn: int
    """The first turn that is taken back."""
    turns: int
    """How many turns are; those that were taken back before do not count."""


class LimitWarning(EventBase):
    """Most of a limit is used up."""

    type: Literal["limit_warning"] = "limit_warning"
    scope: Scope
    limit: LimitName
    used: float
    of: float


class CostUnknown(EventBase):
    """A cost limit is set, but it cannot be enforced."""

    type: Literal["cost_unknown"] = "cost_unknown"
    model: str


class Notice(EventBase):
    """Something that the user should know and that belongs to the session."""

    type: Literal["notice"] = "notice"
    message: str


class UnknownEvent(EventBase):
    """An event of a type that this version does not know: kept, shown as it is, and skipped by the rules."""

    type: str
    body: dict[str, Any]


DAMAGED = "damaged_entry"
"""The type of the `UnknownEvent` that stands where an entry of the log cannot be read."""

KnownEvent = (
    SessionStarted
    | SessionResumed
    | SessionEnded
    | UserSaid
    | TurnStarted
    | TurnEnded
    | IterationStarted
    | IterationEnded
    | AttemptStarted
    | AttemptFailed
    | RetryWaiting
    | ModelSwitched
    | ParameterDropped
    | ModelReplied
    | ReplyDiscarded
    | ReplyInterrupted
    | IntentRejected
    | ApprovalRequested
    | ApprovalResolved
    | ToolStarted
    | ToolRetried
    | ToolFinished
    | FileChanged
    | ChangeUndone
    | Rewound
    | LimitWarning
    | CostUnknown
    | ContextShortened
    | ContextThinned
    | CompactionStarted
    | ContextCompacted
    | CompactionFailed
    | CompactionUndone
    | TurnPinned
    | CacheMissed
    | JobReplied
    | SessionTitled
    | Notice
)
Event = KnownEvent | UnknownEvent

ModelNotice = AttemptStarted | AttemptFailed | RetryWaiting | ModelSwitched | ParameterDropped
"""What a model tells of its way to a reply."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An event at its place in the log."""

    seq: int
    """1 for the first entry of a session; no gaps."""
    at: float
    """Seconds since the epoch."""
    session_id: str
    turn: int
    """0 before the first turn."""
    iteration: int
    """The latest of the turn; 0 before its first."""
    event: Event

    def to_json(self) -> str:
        """One line: the place and the event's fields in one object."""
        at = datetime.fromtimestamp(self.at, UTC).isoformat(timespec="milliseconds")
        place = json.dumps(
            {
                "seq": self.seq,
                "at": at,
                "session_id": self.session_id,
                "turn": self.turn,
                "iteration": self.iteration,
            }
        )
        return f"{place[:-1]}, {dump_event(self.event)[1:]}"


@cache
def known_events() -> TypeAdapter[KnownEvent]:
    """The union of all known events, told apart by `type`; its JSON Schema is the log's."""
    return TypeAdapter(Annotated[KnownEvent, Field(discriminator="type")])


def dump_event(event: Event) -> str:
    """An event as a JSON object, its `type` included."""
    if isinstance(event, UnknownEvent):
        return json.dumps({"type": event.type, **event.body})
    return event.model_dump_json()


def load_event(text: str | bytes) -> Event:
    """Reads what `dump_event` wrote. Raises ValueError where it is damaged."""
    try:
        return known_events().validate_json(text)
    except ValidationError as error:
        if error.errors(include_url=False)[0]["type"] != "union_tag_invalid":
            raise
    body: dict[str, Any] = json.loads(text)
    return UnknownEvent(type=body.pop("type"), body=body)
