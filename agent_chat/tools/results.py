"""Whatever a function returns, as text for a model."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import to_jsonable_python

from agent_chat.core.observation import ToolResult


def to_result(value: Any) -> ToolResult:
    """Results as they are, text as it is, nothing as empty text, everything else as JSON."""
    return value if isinstance(value, ToolResult) else ToolResult(_text(value))


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes | bytearray):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return f"{len(value):,} bytes that are not text"
    try:
        return json.dumps(to_jsonable_python(value, fallback=str), ensure_ascii=False)
    except (TypeError, ValueError):
        return str(value)
