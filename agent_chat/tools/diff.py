"""A change of a text as a unified diff, bounded in time and size."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from agent_chat.core.observation import excerpt

CONTEXT = 3
"""Unchanged lines around each change."""
COMPARED = 4_000
"""Lines that are compared one by one; a larger change is shown as removed and added as a whole."""
MAX_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True)
class Diff:
    text: str
    added: int
    """Lines."""
    removed: int
    """Lines."""


def unified_diff(before: str | None, after: str | None, path: str) -> Diff:
    """None is no file. The texts have line feeds alone; `path` is shown as it is."""
    old, new = _lines(before or ""), _lines(after or "")
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    top, bottom = max(0, head - CONTEXT), min(tail, CONTEXT)
    old_part, new_part = old[top : len(old) - tail + bottom], new[top : len(new) - tail + bottom]
    if len(old) + len(new) - 2 * (head + tail) > COMPARED:
        body = [*(f"-{line}" for line in old_part), *(f"+{line}" for line in new_part)]
        body.insert(0, f"@@ -{top + 1},{len(old_part)} +{top + 1},{len(new_part)} @@")
    else:
        body = [
            _moved(line, top) if line.startswith("@@") else line
            for line in difflib.unified_diff(old_part, new_part, n=CONTEXT, lineterm="")
        ][2:]
    names = ("/dev/null" if before is None else f"a/{path}", "/dev/null" if after is None else f"b/{path}")
    lines = [f"--- {names[0]}", f"+++ {names[1]}", *body]
    added = sum(line.startswith("+") for line in body)
    removed = sum(line.startswith("-") for line in body)
    return Diff(excerpt("\n".join(lines), MAX_CHARACTERS).text, added, removed)


def _lines(text: str) -> list[str]:
    if not text:
        return []
    if text.endswith("\n"):
        return text[:-1].split("\n")
    *lines, last = text.split("\n")
    return [*lines, f"{last}\n\\ No newline at end of file"]


def _common(one: list[str], other: list[str]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            return count
        count += 1
    return count


def _moved(header: str, lines: int) -> str:
    """The header of a hunk of a part that begins so many lines further down."""
    parts = header.split(" ")
    for index in (1, 2):
        start, _, count = parts[index].partition(",")
        moved = start[0] + str(int(start[1:]) + lines)
        parts[index] = f"{moved},{count}" if count else moved
    return " ".join(parts)
