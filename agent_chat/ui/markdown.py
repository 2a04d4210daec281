"""Markdown that is still being written: what is finished is rendered once, what is open again and again.

A line scanner cuts the stream where a block certainly ends: at a blank line, a heading, a rule, a fence,
the next item of a list. The lines of a fence are final as they come. A block that grows and grows is cut,
so that neither a frame nor the whole costs more than in proportion to the text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agent_chat.ui.sanitize import VisibleStream

if TYPE_CHECKING:
    from agent_chat.ui.render import Renderer

MAX_BLOCK = 2_000
"""Characters after which an open block is cut."""
MAX_LINE = 2_000
"""Characters after which a line of code is cut."""

TAIL = 40
"""Lines of the source of an open block that its preview is made of; a table needs all of its own."""

_FENCE = re.compile(r"(?P<indent> *)(?P<marks>`{3,}|~{3,})(?P<info>.*)")
_ITEM = re.compile(r"(?P<indent> *)(?P<marker>[-*+]|\d{1,9}[.)])(?P<space> +|$)")
_HEADING = re.compile(r" {0,3}#{1,6}(\s|$)")
_RULE = re.compile(r" {0,3}([-*_])( *\1){2,} *")
_TABLE_RULE = re.compile(r"[ |:-]*-[ |:-]*")


class MarkdownStream:
    """One text of the model's. Lines come out safe for a terminal, without a newline at their end."""

    def __init__(self, renderer: Renderer, width: int) -> None:
        self.width = width
        """Cells; may be changed at any time and holds for what is rendered from then on."""
        self._renderer = renderer
        self._safe = VisibleStream()
        self._partial = ""
        """The line that has no end yet."""
        self._block: list[str] = []
        """The complete lines of the open block."""
        self._size = 0
        self._fence: re.Match[str] | None = None
        self._item_offset = 0
        """How far in the text of the open block begins, where it is an item of a list; else 0."""
        self._in_list = False
        self._table_head: list[str] = []
        """Repeated on the next part of a table that was cut."""
        self._blank = False
        """A blank line is due before the next line."""
        self._started = False
        self._out: list[str] = []

    def feed(self, text: str) -> list[str]:
        """Takes the next piece; gives the lines that are now finished."""
        *lines, self._partial = (self._partial + self._safe.feed(text)).split("\n")
        for line in lines:
            self._line(line)
        self._cut_partial()
        return self._take()

    def open(self) -> list[str]:
        """The lines of what is not finished, as they look now."""
        if self._fence is not None:
            return [self._code(self._partial)] if self._partial else []
        source = [*self._block, self._partial] if self._partial else self._block
        return self._rendered(source if self._is_table() else source[-TAIL:])

    def end(self) -> list[str]:
        """The text is complete: the rest of its lines."""
        self._partial += self._safe.end()
        if self._partial:
            self._line(self._partial)
            self._partial = ""
        self._finish()
        return self._take()

    def _take(self) -> list[str]:
        out, self._out = self._out, []
        return out

    def _line(self, line: str) -> None:
        if self._fence is not None:
            self._code_line(line, self._fence)
        elif not line.strip():
            self._finish()
            self._table_head = []
            self._blank = self._started
        elif fence := self._opens_fence(line):
            self._finish()
            self._fence = fence
            self._put([self._renderer.mark(line)])
        else:
            self._text_line(line)

    def _text_line(self, line: str) -> None:
        rule = _RULE.fullmatch(line) and not (self._block and line.lstrip().startswith("-"))
        heading = _HEADING.match(line)
        item = _ITEM.match(line)
        if rule or heading or (item and self._begins(item)) or self._changes_quote(line):
            self._finish()
        if not self._block:
            self._item_offset = len(item[0]) if item and not rule else 0
            self._in_list = (self._in_list and line.startswith(" ")) or self._item_offset > 0
        self._add(line)
        if rule or heading:
            self._finish()
        elif self._size > MAX_BLOCK:
            self._cut()

    def _begins(self, item: re.Match[str]) -> bool:
        """Whether this item begins a new block rather than going on inside the open one."""
        if not self._block:
            return False
        if self._item_offset:
            return len(item["indent"]) < self._item_offset
        if self._in_list:
            return len(item["indent"]) < _indent(self._block[0])
        # Inside a paragraph a number is only a list when it is 1.
        return bool(item["space"]) and (item["marker"] in "-*+" or item["marker"][:-1] == "1")

    def _changes_quote(self, line: str) -> bool:
        if not self._block:
            return False
        return line.lstrip().startswith(">") and not self._block[0].lstrip().startswith(">")

    def _opens_fence(self, line: str) -> re.Match[str] | None:
        match = _FENCE.fullmatch(line)
        if match is None or ("`" in match["marks"] and "`" in match["info"]):
            return None
        return match if len(match["indent"]) < 4 or self._in_list or self._item_offset else None

    def _code_line(self, line: str, fence: re.Match[str]) -> None:
        marks = fence["marks"]
        stripped = line.strip()
        if len(stripped) >= len(marks) and not stripped.strip(marks[0]):
            self._fence = None
            self._put([self._renderer.mark(line)])
        else:
            self._put([self._code(line)])

    def _code(self, line: str) -> str:
        return self._renderer.code(line.expandtabs())

    def _add(self, line: str) -> None:
        self._block.append(line)
        self._size += len(line) + 1

    def _cut_partial(self) -> None:
        if self._fence is not None:
            while len(self._partial) > MAX_LINE:
                self._put([self._code(self._partial[:MAX_LINE])])
                self._partial = self._partial[MAX_LINE:]
        elif len(self._partial) + self._size > MAX_BLOCK and not self._is_table():
            at = self._partial.rfind(" ", 0, MAX_BLOCK) + 1 or min(len(self._partial), MAX_BLOCK)
            head, self._partial = self._partial[:at], self._partial[at:]
            self._add(head)
            self._finish()

    def _cut(self) -> None:
        """Ends a block that is too long, and lets the next one go on as the same."""
        head = self._table_head or (self._block[:2] if self._is_table() else [])
        self._finish()
        self._table_head = head

    def _is_table(self) -> bool:
        return bool(self._table_head) or (
            len(self._block) > 1 and "|" in self._block[0] and bool(_TABLE_RULE.fullmatch(self._block[1]))
        )

    def _finish(self) -> None:
        if self._block:
            self._put(self._rendered(self._block))
        self._block = []
        self._size = 0
        self._item_offset = 0

    def _rendered(self, source: list[str]) -> list[str]:
        if not source:
            return []
        if self._table_head:
            source = [*self._table_head, *source]
        indent = _indent(source[0]) if self._in_list else 0
        if indent:
            # What follows inside an item is a block of its own, set in as far as it was written.
            source = [line[indent:] if line[:indent].isspace() else line for line in source]
        lines = self._renderer.markdown("\n".join(source), self.width - indent)
        return [" " * indent + line for line in lines] if indent else lines

    def _put(self, lines: list[str]) -> None:
        if not lines:
            return
        if self._blank:
            self._out.append("")
            self._blank = False
        self._started = True
        self._out.extend(lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
