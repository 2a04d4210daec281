"""Fields of a reply beside text and calls that must travel back, put together from their deltas.

Reasoning models refuse, or lose their thread, when what they thought does not come back with the tool
results exactly as they sent it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from agent_chat.models.loose import mapping, sequence
from agent_chat.models.surrogates import mend

_TRAVELS_BACK = re.compile(r"reason|think|thought|signature|encrypted|provider_specific_fields|extra_content")
"""Names of fields that models want back; what else servers add is their own affair."""
_KNOWN = frozenset(("role", "content", "tool_calls"))
_TEXT_FIELDS = ("reasoning_content", "reasoning", "thinking")
"""Where providers put reasoning as text; the first that is there is shown."""
_GROWING = ("thinking", "text", "summary", "data", "signature")
"""Fields of a block that come in pieces."""


class Extras:
    """Feed it the fields of every delta; `values()` at the end."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def feed(self, delta: Mapping[str, Any]) -> str:
        """Keeps what must travel back; gives the reasoning text to show, empty where there is none."""
        for name, value in delta.items():
            if value and name not in _KNOWN and _TRAVELS_BACK.search(name):
                self._values[name] = _merged(self._values.get(name), value)
        for name in _TEXT_FIELDS:
            value = delta.get(name)
            if isinstance(value, str) and value:
                return value
        for name in ("reasoning_details", "thinking_blocks"):
            value = delta.get(name)
            if shown := "".join(_block_text(mapping(block)) for block in sequence(value)):
                return shown
        return ""

    def values(self) -> dict[str, Any]:
        return _mended(self._values)


def _merged(old: Any, new: Any) -> Any:
    if isinstance(old, str) and isinstance(new, str):
        return old + new
    if isinstance(new, list):
        blocks = sequence(old)
        for block in cast("list[Any]", new):
            _add_block(blocks, block)
        return blocks
    if isinstance(old, dict) and isinstance(new, Mapping):
        fields = cast("dict[str, Any]", old)
        for name, value in cast("Mapping[str, Any]", new).items():
            fields[name] = _merged(fields.get(name), value)
        return fields
    return dict(cast("Mapping[str, Any]", new)) if isinstance(new, Mapping) else new


def _add_block(blocks: list[Any], block: Any) -> None:
    """Appends a block, or the piece of one to the block that it goes on with."""
    if not isinstance(block, Mapping):
        blocks.append(block)
        return
    piece = cast("Mapping[str, Any]", block)
    last = cast("dict[str, Any]", blocks[-1]) if blocks and isinstance(blocks[-1], dict) else None
    if last is None or not _goes_on(last, piece):
        blocks.append(dict(piece))
        return
    for name, value in piece.items():
        if name in _GROWING and isinstance(value, str) and isinstance(last.get(name), str):
            last[name] += value
        elif value is not None:
            last[name] = value


def _goes_on(last: Mapping[str, Any], piece: Mapping[str, Any]) -> bool:
    if last.get("type") != piece.get("type") or piece.get("type") == "redacted_thinking":
        return False
    if "index" in piece or "index" in last:
        return last.get("index") == piece.get("index")
    # A signature closes a thinking block; a piece with the signature alone still belongs to it.
    return not last.get("signature")


def _block_text(fields: Mapping[str, Any]) -> str:
    for name in ("thinking", "text", "summary"):
        value = fields.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return mend(value)
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {mend(name): _mended(inner) for name, inner in fields.items()}
    if isinstance(value, list):
        return [_mended(inner) for inner in cast("list[Any]", value)]
    return value
