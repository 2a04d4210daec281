"""What crosses the model boundary: a query in, deltas and one reply out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agent_chat.core.messages import Message, ToolCall

FinishReason = Literal["stop", "tool_calls", "length", "content_filter", "unknown"]
ToolChoice = Literal["auto", "none"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """A JSON Schema of type object."""


@dataclass(frozen=True, slots=True)
class Query:
    """One request to a model."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = "auto"
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them; `cached` is part of `prompt`, `reasoning` part of `completion`."""

    prompt: int = 0
    cached: int = 0
    completion: int = 0
    reasoning: int = 0

    @property
    def total(self) -> int:
        return self.prompt + self.completion

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt + other.prompt,
            self.cached + other.cached,
            self.completion + other.completion,
            self.reasoning + other.reasoning,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete reply; half of one never leaves a model."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    finish_reason: FinishReason = "stop"
    model: str = ""
    """The model that answered, as its provider names it."""
    usage: Usage | None = None
    """None where the provider told nothing."""
    cost_usd: float | None = None
    """None where the price or the usage is unknown; never 0 for unknown."""
    extras: Mapping[str, Any] = field(default_factory=dict[str, Any])
    reasoning: str = ""
    """Reasoning as text to show; what must travel back is in `extras`."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    text: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of a tool call that is still being written; `index` counts the calls of the reply from 0."""

    index: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A piece of what a running tool prints."""

    call_id: str
    text: str


ModelDelta = TextDelta | ReasoningDelta | CallDelta
Delta = ModelDelta | ToolOutput
"""What is shown while it happens and never logged."""
