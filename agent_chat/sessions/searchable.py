"""What of an event can be searched for, and how text is compared: without regard to case."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, cast

Source = Literal["user", "answer", "call", "result"]

SOURCES: dict[str, Source] = {
    "user_message": "user",
    "model_replied": "answer",
    "reply_interrupted": "answer",
    "tool_started": "call",
    "tool_finished": "result",
}
"""The types of events that can be searched, and whose words they hold."""

LONGEST = 8_000
"""Characters of one event that are searched; of longer ones the first and the last half of it."""
_SNIPPET = 160


@dataclass(frozen=True, slots=True)
class Passage:
    """The text of an event that can be searched."""

    source: Source
    tool: str
    """The tool's name; empty where it is not about a tool."""
    text: str


def passage_of(body: str | bytes) -> Passage | None:
    """Of an event as it is stored; None where it holds nothing to search, or is damaged."""
    try:
        event: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    fields = cast("dict[str, Any]", event)
    source = SOURCES.get(str(fields.get("type")))
    if source is None:
        return None
    tool = str(fields.get("name", "")) if source in ("call", "result") else ""
    if source == "call":
        text = f"{tool} {json.dumps(fields.get('arguments', {}), ensure_ascii=False)}"
    else:
        text = fields.get("content" if source == "result" else "text")
    return Passage(source, tool, _bounded(text)) if isinstance(text, str) and text else None


def folded(text: str) -> str:
    """The text without capitals, every character at its place."""
    # İ becomes two letters in lower case; the lower case of Σ depends on its place. Neither İ nor the sign of
    # Kelvin may become a letter of ASCII, for which SQLite does not look behind letters that are none. NUL is
    # the end of a text to it.
    return text.replace("İ", "ı").replace("\u212a", "ҡ").lower().replace("ς", "σ").replace("\0", "\ufffd")


def words_of(query: str) -> tuple[str, ...]:
    """The parts of a query, folded: words, and what stands between double quotes as one."""
    parts = query.replace("\0", " ").split('"')
    found: list[str] = []
    for number, part in enumerate(parts):
        quoted = number % 2 == 1 and number < len(parts) - 1
        found.extend([part] if quoted else part.split())
    return tuple(dict.fromkeys(folded(part) for part in found if part.strip()))


def snippet(text: str, words: tuple[str, ...]) -> str:
    """The surroundings of the first word that is found, on one line."""
    low = folded(text)
    at = max(0, min((place for word in words if (place := low.find(word)) >= 0), default=0))
    begin = max(0, at - _SNIPPET // 3)
    end = begin + _SNIPPET
    cut = " ".join(text[begin:end].split())
    return f"{'…' if begin else ''}{cut}{'…' if end < len(text) else ''}"


def _bounded(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}"
