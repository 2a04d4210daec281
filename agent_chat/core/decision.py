"""What a model's reply means."""

from __future__ import annotations

from dataclasses import dataclass

from agent_chat.core.messages import ToolCall, parse_arguments
from agent_chat.core.model import Reply


@dataclass(frozen=True, slots=True)
class Final:
    """An answer without tool calls."""

    text: str


@dataclass(frozen=True, slots=True)
class Intents:
    """Tool calls proposed, not yet run."""

    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class Truncated:
    """An answer that the output limit cut off."""

    text: str


@dataclass(frozen=True, slots=True)
class Filtered:
    """The provider withheld the answer."""


@dataclass(frozen=True, slots=True)
class Empty:
    """Neither text nor calls."""


Decision = Final | Intents | Truncated | Filtered | Empty


def decide(reply: Reply) -> Decision:
    """Calls make a reply intents, whatever its finish reason says."""
    if reply.calls:
        return Intents(reply.calls)
    if reply.finish_reason == "content_filter":
        return Filtered()
    if not reply.text.strip():
        return Empty()
    if reply.finish_reason == "length":
        return Truncated(reply.text)
    return Final(reply.text)


def was_cut_off(reply: Reply, call: ToolCall) -> bool:
    """Whether the output limit cut the reply inside this call's arguments. Such a call must never run.

    Only the last call of a reply can be cut; complete JSON is not proof that it is whole when the
    arguments are empty, because a call may be cut before its first byte.
    """
    if reply.finish_reason != "length" or call is not reply.calls[-1]:
        return False
    return not call.arguments.strip() or parse_arguments(call.arguments) is None
