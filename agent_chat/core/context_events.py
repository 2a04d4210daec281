"""What happens to the context: what is left out of it, pinned in it, or no longer cached; and small jobs."""

# Annotations stay real types: this file is read at every start, and evaluating them takes milliseconds.
from dataclasses import dataclass
from typing import Literal

from agent_chat.core.event_base import EventBase
from agent_chat.core.model import Usage

Job = Literal["compaction", "title"]
"""Small jobs that a model does for the program itself."""
CompactionReason = Literal["full", "asked"]
PrefixChange = Literal["model", "system", "tools", "messages", "none"]


class ContextShortened(EventBase):
    """The context window overflowed; from here on the messages leave out the older ones."""

    type: Literal["context_shortened"] = "context_shortened"
    dropped: int
    """The first so many of the messages after the system message are no longer shown to the model."""
    tool_result_limit: int
    """Tool results before this event are cut to so many characters."""
    tokens: int = 0
    """Estimate of what a request takes now; 0 where there is none."""


@dataclass(frozen=True, slots=True)
class ThinnedResult:
    message: int
    """The place of the tool message among the messages after the system message."""
    stored: str
    """The id under which the whole result can be read."""


class ContextThinned(EventBase):
    """From here on the model is shown old tool results in part."""

    type: Literal["context_thinned"] = "context_thinned"
    results: tuple[ThinnedResult, ...]
    limit: int
    """Characters that each of them is cut to."""
    tokens: int
    """Estimate of what a request takes now."""


class CompactionStarted(EventBase):
    """A model is asked for a summary; ended by `context_compacted` or `compaction_failed`."""

    type: Literal["compaction_started"] = "compaction_started"
    reason: CompactionReason
    model: str
    tokens: int
    """What a request takes now."""
    window: int | None
    """Tokens that the model takes; None where that is not known."""
    focus: str = ""
    """What the summary is to look at, in the user's words."""


class ContextCompacted(EventBase):
    """From here on the model is shown a summary in the place of the older messages."""

    type: Literal["context_compacted"] = "context_compacted"
    summary: str
    pinned: tuple[str, ...] = ()
    """Texts that stay word for word beside the summary."""
    dropped: int
    """The first so many of the messages after the system message are no longer shown to the model."""
    kept: int
    """The messages that stay as they are."""
    tokens_before: int
    tokens: int
    """Estimate of what a request takes now."""


class CompactionFailed(EventBase):
    """There is no summary; the messages stay as they are."""

    type: Literal["compaction_failed"] = "compaction_failed"
    message: str
    tokens: int
    """What a request took then; the next try comes when it is clearly more."""


class CompactionUndone(EventBase):
    """The user took the last compaction back: the model is shown all that it replaced."""

    type: Literal["compaction_undone"] = "compaction_undone"
    tokens: int
    """Estimate of what a request takes now."""


class TurnPinned(EventBase):
    """The user wants this text of the conversation to outlast every compaction."""

    type: Literal["turn_pinned"] = "turn_pinned"
    text: str


class CacheMissed(EventBase):
    """Almost nothing of a request came from the provider's cache, although its beginning had been sent."""

    type: Literal["cache_missed"] = "cache_missed"
    changed: PrefixChange
    """What of the request's beginning was not as before; `none`: nothing, the provider forgot it."""
    detail: str
    prompt: int
    cached: int


class JobReplied(EventBase):
    """A model's reply to a small job. It is no part of the conversation; its usage counts."""

    type: Literal["job_replied"] = "job_replied"
    job: Job
    model: str
    text: str
    usage: Usage | None
    cost_usd: float | None
    duration_s: float


class SessionTitled(EventBase):
    type: Literal["titled"] = "titled"
    title: str
