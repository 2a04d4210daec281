"""What the model is shown: a conversation as values, free of any provider's format.

Messages are a projection of the event log (see `projection`), never a source of truth.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call as the model wrote it: a proposal (an *intent*), without authority of its own."""

    id: str
    """Non-empty; unique within its reply."""
    name: str
    arguments: str
    """JSON text exactly as it was received; it may be empty, cut off or not JSON at all."""


@dataclass(frozen=True, slots=True)
class SystemMessage:
    text: str


@dataclass(frozen=True, slots=True)
class UserMessage:
    text: str


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    text: str
    calls: tuple[ToolCall, ...] = ()
    model: str = ""
    """The model that wrote it, as its provider knows it: `extras` go back to that model only."""
    extras: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)
    """Provider fields that must travel back unchanged, such as `reasoning_content` and `thinking_blocks`."""


@dataclass(frozen=True, slots=True)
class ToolMessage:
    call_id: str
    name: str
    text: str
    stored: str | None = None
    """The id under which the whole result can be read, where `text` is only part of it."""


Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage


def parse_arguments(text: str) -> dict[str, Any] | None:
    """The arguments of a call as an object; empty text is an empty object; None when it is not an object."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
