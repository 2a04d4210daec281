"""Text of servers, made harmless: whoever wrote it may want to hide something from its reader."""

from __future__ import annotations

import re
from typing import Any, cast

from agent_chat.core.text import storable

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)
DEEPEST = 40
"""Levels of a schema; below that nothing is told."""


def clean(text: str, limit: int) -> str:
    """Without control, bidirectional and invisible characters, and no longer than `limit`."""
    found = _CONTROLS.sub("", storable(text[: limit * 2])).strip()
    return found if len(found) <= limit else f"{found[: limit - 1]}…"


def one_line(text: str, limit: int) -> str:
    """`clean`, with every run of white space as one space."""
    return clean(" ".join(text[: limit * 4].split()), limit)


def clean_json(value: Any, limit: int, depth: int = 0) -> Any:
    """A JSON value whose texts are clean and bounded. Raises ValueError where it is nested too deeply."""
    if depth > DEEPEST:
        raise ValueError(f"it is nested more than {DEEPEST} levels deep")
    if isinstance(value, str):
        return clean(value, limit)
    if isinstance(value, dict):
        entries = cast("dict[Any, Any]", value)
        return {clean(str(key), limit): clean_json(item, limit, depth + 1) for key, item in entries.items()}
    if isinstance(value, list):
        return [clean_json(item, limit, depth + 1) for item in cast("list[Any]", value)]
    return value
