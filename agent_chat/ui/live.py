"""One answer on a terminal: finished blocks are printed once, the open one is redrawn below them."""

from __future__ import annotations

import asyncio
import time

from agent_chat.core.events import Entry
from agent_chat.core.model import Delta
from agent_chat.ui.paint import Paint
from agent_chat.ui.plain import plain_lines, wanted
from agent_chat.ui.shown import Note, Verbosity
from agent_chat.ui.stdout import Output
from agent_chat.ui.transcript import Transcript
from agent_chat.ui.view import View

FRAME = 1 / 15
"""Seconds between two drawings."""
BUDGET = 0.05
"""Seconds of rendering in one drawing."""
NO_WRAP, WRAP = "\x1b[?7l", "\x1b[?7h"


class LiveSink:
    """An `EventSink` for a stdout that is a terminal which takes escape sequences.

    Notes go between the text where stderr is a terminal as well, and to stderr where it is not.
    """

    def __init__(
        self,
        stdout: Output,
        stderr: Output,
        paint: Paint,
        *,
        width: int,
        rows: int,
        verbosity: Verbosity = "normal",
    ) -> None:
        """`width` and `rows` of the terminal, in cells."""
        self._stdout = stdout
        self._stderr = stderr
        self._rows = rows
        self._verbosity: Verbosity = verbosity
        self._view = View(conversation=False, verbose=verbosity == "verbose")
        self._transcript = Transcript(paint, width, verbosity)
        self._paint = paint
        self._tail = 0
        """Rows that stand below the finished lines."""
        self._drawn_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def emit(self, entry: Entry) -> None:
        for shown in self._view.entry(entry):
            if isinstance(shown, Note):
                self.note(shown)
            else:
                self._transcript.add(shown)
        self._draw_soon()

    def show(self, delta: Delta) -> None:
        for shown in self._view.delta(delta):
            self._transcript.add(shown)
        self._draw_soon()

    def note(self, note: Note) -> None:
        if note.kind == "user":
            return
        if self._stderr.is_terminal:
            self._transcript.add(note)
        elif wanted(note.kind, self._verbosity, terminal=False):
            self._stderr.line(plain_lines(note))

    def close(self) -> None:
        """Draws what is left. Nothing may come after it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._transcript.advance(1.0):
            pass
        self._write(self._transcript.lines(), [])

    def _draw_soon(self) -> None:
        if self._timer is None:
            wait = max(0.0, self._drawn_at + FRAME - time.monotonic())
            self._timer = asyncio.get_running_loop().call_later(wait, self._draw)

    def _draw(self) -> None:
        self._timer = None
        more = self._transcript.advance(BUDGET)
        rows = self._rows - 2
        tail = self._transcript.tail(rows)
        if not tail and self._view.status:
            tail = [self._paint.dim(f"{self._view.status} ...")]
        self._write(self._transcript.lines(), tail)
        self._drawn_at = time.monotonic()
        if more:
            self._draw_soon()

    def _write(self, finished: list[str], tail: list[str]) -> None:
        wipe = f"\r\x1b[{self._tail}A\x1b[J" if self._tail else ""
        below = _lines(tail)
        if tail:
            # A row of the tail must stay one row, however wide the terminal takes a character to be.
            below = f"{NO_WRAP}{below}{WRAP}"
        self._tail = len(tail)
        self._stdout.write(wipe + _lines(finished) + below)


def _lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
