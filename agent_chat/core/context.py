"""What fills the context window, by source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent_chat.core.compaction import split_summary
from agent_chat.core.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from agent_chat.core.model import ToolSpec
from agent_chat.core.tokens import PER_MESSAGE, estimate, estimate_message, estimate_tools

Source = Literal["system prompt", "tools", "summary", "user", "assistant", "tool results"]
SOURCES: tuple[Source, ...] = ("system prompt", "tools", "summary", "user", "assistant", "tool results")


@dataclass(frozen=True, slots=True)
class ContextUse:
    """What a request takes now, in tokens."""

    window: int | None
    """What the model takes; None where that is not known."""
    sources: dict[Source, int]
    """In the order in which they are sent."""
    counted: bool
    """Whether the sum rests on a provider's own count; else all of it is an estimate."""

    @property
    def tokens(self) -> int:
        return sum(self.sources.values())

    @property
    def share(self) -> float | None:
        """Of the window, from 0; None where it is not known."""
        return self.tokens / self.window if self.window else None


def context_use(
    messages: Sequence[Message], specs: Sequence[ToolSpec], known: int | None, window: int | None
) -> ContextUse:
    """`known`: what a request takes by a provider's count. The estimates of the sources add up to it."""
    sources: dict[Source, int] = dict.fromkeys(SOURCES, 0)
    sources["tools"] = estimate_tools(specs)
    for message in messages:
        match message:
            case SystemMessage():
                sources["system prompt"] += estimate_message(message)
            case UserMessage(text):
                summary, said = split_summary(text)
                sources["summary"] += estimate(summary)
                sources["user"] += PER_MESSAGE + estimate(said)
            case AssistantMessage():
                sources["assistant"] += estimate_message(message)
            case ToolMessage():
                sources["tool results"] += estimate_message(message)
    if known is not None and (total := sum(sources.values())):
        scale = known / total
        sources = {source: round(tokens * scale) for source, tokens in sources.items()}
    return ContextUse(window, sources, known is not None)


def last_turn(messages: Sequence[Message]) -> tuple[str, str]:
    """What the user said last, and what was answered; empty where there is neither."""
    answer = ""
    for message in reversed(messages):
        match message:
            case AssistantMessage(text=text):
                answer = answer or text
            case UserMessage(text):
                return split_summary(text)[1], answer
            case _:
                pass
    return "", ""


def estimate_all(messages: Sequence[Message], specs: Sequence[ToolSpec]) -> int:
    """Tokens of a request, without any count by a provider."""
    return estimate_tools(specs) + sum(map(estimate_message, messages))
