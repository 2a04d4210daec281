"""Events without credentials: what is kept, shown and sent to models is made of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from agent_chat.core.approval import Preview
from agent_chat.core.events import Event
from agent_chat.core.messages import ToolCall
from agent_chat.core.redaction import Redactor

_KEPT = frozenset(
    (
        "type",
        "extras",
        "call_id",
        "idempotency_key",
        "stored",
        "workspace",
        "path",
        "before",
        "after",
        "folders",
    )
)
"""Fields that go back to where they came from, byte for byte."""


def redacted(event: Event, redactor: Redactor) -> Event:
    """The event with a mask for every credential; the very same where there is none."""
    changed: dict[str, Any] = {}
    for name, value in event.__dict__.items():
        if name not in _KEPT:
            masked = _masked(value, redactor)
            if masked is not value:
                changed[name] = masked
    return event.model_copy(update=changed) if changed else event


def _masked(value: Any, redactor: Redactor) -> Any:
    match value:
        case str() | dict():
            return redactor.value(value)
        case tuple():
            items = cast("tuple[Any, ...]", value)
            masked = tuple(_masked(item, redactor) for item in items)
            return items if all(new is old for new, old in zip(masked, items, strict=True)) else masked
        case ToolCall():
            arguments = redactor(value.arguments)
            return value if arguments is value.arguments else replace(value, arguments=arguments)
        case Preview():
            text, where = redactor(value.text), redactor(value.where)
            same = text is value.text and where is value.where
            return value if same else replace(value, text=text, where=where)
        case _:
            return value
