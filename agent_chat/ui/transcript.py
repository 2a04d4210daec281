"""What a terminal shows: finished lines that are printed once, and a short tail that still changes.

Work is done in slices, so that a burst of text never keeps a key waiting.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

from agent_chat.ui.paint import Paint
from agent_chat.ui.plain import wanted
from agent_chat.ui.sanitize import VisibleStream, visible
from agent_chat.ui.shown import Note, NoteKind, Reasoning, Shown, Text, TextEnd, ToolText, Verbosity

if TYPE_CHECKING:
    from agent_chat.ui.markdown import MarkdownStream

SLICE = 1_000
"""Characters of text that are rendered between two looks at the clock."""
TAIL_ROWS = 12
TOOL_ROWS = 3
REASONING_ROWS = 2


class Transcript:
    """Takes what is to be shown, cheaply; makes lines of it when asked to."""

    def __init__(self, paint: Paint, width: int, verbosity: Verbosity) -> None:
        self.width = width
        """Cells of a row, for what is rendered from now on."""
        self.verbosity: Verbosity = verbosity
        self._paint = paint
        self._waiting: deque[Shown] = deque()
        self._pieces: list[str] = []
        """Text that came since the last other thing; joined when its turn comes."""
        self._stream: MarkdownStream | None = None
        self._printed = 0
        """Lines of the open text that were printed already."""
        self._tools: dict[str, str] = {}
        """The end of what each running tool has printed."""
        self._reasoning = ""
        self._safe_reasoning = VisibleStream()
        self._lines: list[str] = []

    def add(self, shown: Shown) -> None:
        if isinstance(shown, Text):
            self._pieces.append(shown.text)
            return
        self._flush_pieces()
        self._waiting.append(shown)

    def advance(self, seconds: float) -> bool:
        """Works off what was added, for about so long; whether anything is left."""
        self._flush_pieces()
        until = time.perf_counter() + seconds
        while self._waiting:
            self._take(self._waiting.popleft())
            if time.perf_counter() >= until:
                break
        return bool(self._waiting)

    def lines(self) -> list[str]:
        """The finished lines since the last call: ANSI text without newlines."""
        lines, self._lines = self._lines, []
        return lines

    def tail(self, rows: int) -> list[str]:
        """The last rows of what is not finished."""
        rows = min(rows, TAIL_ROWS)
        if rows <= 0:
            return []
        if self._stream is not None:
            return self._stream.open()[-rows:]
        tail = _last_lines(self._reasoning, REASONING_ROWS)
        for text in self._tools.values():
            tail.extend(_last_lines(text, TOOL_ROWS))
        return [self._paint.dim(line) for line in tail[-rows:]]

    def _flush_pieces(self) -> None:
        if not self._pieces:
            return
        text = "".join(self._pieces)
        self._pieces = []
        self._waiting.extend(Text(text[at : at + SLICE]) for at in range(0, len(text), SLICE))

    def _take(self, shown: Shown) -> None:
        match shown:
            case Text():
                self._end_reasoning()
                lines = self._open_stream().feed(shown.text)
                self._printed += len(lines)
                self._lines.extend(lines)
            case TextEnd():
                self._end_text(discarded=shown.discarded)
            case Reasoning():
                self._reasoning += self._safe_reasoning.feed(shown.text)
                if self.verbosity != "verbose":
                    self._reasoning = self._reasoning[-4 * self.width :]
            case ToolText():
                text = self._tools.get(shown.name, "") + visible(shown.text)
                self._tools[shown.name] = text[-TOOL_ROWS * 4 * self.width :]
            case Note():
                self._end_reasoning()
                if shown.kind in _ENDS_TOOLS:
                    self._tools.clear()
                self._note(shown)

    def _note(self, note: Note) -> None:
        if note.kind == "user" or wanted(note.kind, self.verbosity, terminal=True):
            self._lines.extend(self._paint.note(note))
        if note.kind == "closing":
            self._lines.append("")

    def _open_stream(self) -> MarkdownStream:
        if self._stream is None:
            from agent_chat.ui.markdown import MarkdownStream
            from agent_chat.ui.render import Renderer

            self._stream = MarkdownStream(Renderer(self._paint), self.width)
            self._printed = 0
        self._stream.width = self.width
        return self._stream

    def _end_text(self, *, discarded: bool) -> None:
        stream, self._stream = self._stream, None
        if stream is None:
            return
        if not discarded:
            self._lines.extend(stream.end())
        elif self._printed:
            lines = "line above is" if self._printed == 1 else f"{self._printed} lines above are"
            self._note(Note("warning", f"The {lines} discarded."))

    def _end_reasoning(self) -> None:
        text = (self._reasoning + self._safe_reasoning.end()).strip()
        self._reasoning = ""
        if text and self.verbosity == "verbose":
            self._note(Note("detail", text))


_ENDS_TOOLS: frozenset[NoteKind] = frozenset(("result", "failure", "closing"))


def _last_lines(text: str, count: int) -> list[str]:
    return [line.expandtabs() for line in text.rstrip("\n").split("\n")[-count:]] if text.strip() else []
