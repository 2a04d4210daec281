"""Exact replacement: the one place that is meant, or why there is none."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from agent_chat.tools.errors import ToolError
from agent_chat.tools.text_content import TextContent

SEARCHED = 5_000
"""Lines that are looked through for similar ones."""
COMPARED = 200
"""Characters of a line that are compared."""
SHOWN = 2_000
"""Characters of the file that an error shows."""
NAMED = 5
"""Places that an error names."""


@dataclass(frozen=True, slots=True)
class Replaced:
    content: TextContent
    lines: tuple[int, ...]
    """Where, from 1: the line on which each replacement begins."""


def replace_exactly(content: TextContent, old: str, new: str, *, every: bool, shown: str) -> Replaced:
    """`old` with `new` in its place. Line feeds stand for any line end. Raises `ToolError`, which says how
    to do better, where `old` is not there, or more than once and not `every` place is meant."""
    text, old, new = content.unix, old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if not old:
        raise ToolError("old is empty; to make a new file, use write_file")
    if old == new:
        raise ToolError("old and new are the same; nothing would change")
    starts = _find(text, old)
    lines = _lines_of(text, starts)
    if not starts:
        raise ToolError(_not_found(text, old, shown))
    if len(starts) > 1 and not every:
        places = ", ".join(map(str, lines[:NAMED])) + (", …" if len(starts) > NAMED else "")
        raise ToolError(
            f"old is {len(starts)} times in {shown} (lines {places}); add lines around it until it is there "
            "once, or set replace_all"
        )
    # What stays the same keeps its own line ends.
    head = _shared(old, new)
    tail = _shared(old[head:][::-1], new[head:][::-1])
    spans = [(start + head, start + len(old) - tail) for start in starts]
    return Replaced(content.spliced(spans, new[head : len(new) - tail]), lines)


def _shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (left, right) in pairs if left != right), min(len(one), len(other)))


def _lines_of(text: str, starts: list[int]) -> tuple[int, ...]:
    lines: list[int] = []
    line, position = 1, 0
    for start in starts:
        line += text.count("\n", position, start)
        position = start
        lines.append(line)
    return tuple(lines)


def _find(text: str, old: str) -> list[int]:
    starts: list[int] = []
    start = text.find(old)
    while start != -1:
        starts.append(start)
        start = text.find(old, start + len(old))
    return starts


def _not_found(text: str, old: str, shown: str) -> str:
    lines, wanted = text.split("\n"), old.strip("\n").split("\n")
    first = _same_words(lines, wanted)
    if first is not None:
        actual = "\n".join(lines[first : first + len(wanted)])
        last = first + len(wanted)
        where = f"line {last}" if len(wanted) == 1 else f"lines {first + 1}-{last}"
        return f"old is not in {shown}; only its white space differs from {where}:\n{actual[:SHOWN]}"
    near = _similar(lines, max(wanted, key=lambda line: len(line.strip())))
    if near:
        return f"old is not in {shown}; similar lines are:\n" + "\n".join(near)
    return f"old is not in {shown}, nor anything like it; read_file shows what is"


def _same_words(lines: list[str], wanted: list[str]) -> int | None:
    """Where the lines stand but for their white space."""
    words = [" ".join(line.split()) for line in wanted]
    if not any(words):
        return None
    found = [" ".join(line.split()) for line in lines]
    places = range(len(lines) - len(words) + 1)
    return next((at for at in places if found[at] == words[0] and found[at : at + len(words)] == words), None)


def _similar(lines: list[str], wanted: str) -> list[str]:
    numbers: dict[str, int] = {}
    for number, line in enumerate(lines[:SEARCHED], start=1):
        if line.strip():
            numbers.setdefault(line[:COMPARED], number)
    near = difflib.get_close_matches(wanted[:COMPARED], numbers, n=3, cutoff=0.6)
    return [f"line {number}: {line}" for number, line in sorted((numbers[line], line) for line in near)]
