"""The screen of a session: finished lines go above the input line once, the tail is redrawn, and rarely."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from agent_chat.ui.keyboard import InputLine, QuietOutput
from agent_chat.ui.kind import is_unicode
from agent_chat.ui.paint import Paint
from agent_chat.ui.shown import Shown, Verbosity

if TYPE_CHECKING:
    from agent_chat.ui.transcript import Transcript
    from agent_chat.ui.view import View

FRAME = 1 / 15
"""Seconds between two drawings while something changes."""
BUDGET = 0.008
"""Seconds of rendering at a time."""
PAUSE = 0.002
"""Seconds in which keys are looked at, between two such times."""


class Screen:
    """Draws when something was added or `changed` was said; between that it does nothing at all.

    View and transcript are loaded when the first thing is to be shown.
    """

    def __init__(
        self,
        line: InputLine,
        output: QuietOutput,
        stdout: TextIO,
        *,
        color: bool,
        verbosity: Verbosity,
        below: Callable[[], list[str]],
    ) -> None:
        """`below` gives the plain lines between the tail and the input line."""
        self.verbosity: Verbosity = verbosity
        self.paint = Paint(color, is_unicode(stdout.encoding))
        self._line = line
        self._output = output
        self._below = below
        self._view: View | None = None
        self._transcript: Transcript | None = None
        self._paused = False
        self._timer: asyncio.TimerHandle | None = None
        self._drawn_at = 0.0
        self._waiting: list[asyncio.Future[None]] = []
        """For everything to be on the screen."""

    @property
    def view(self) -> View:
        if self._view is None:
            from agent_chat.ui.view import View

            self._view = View(conversation=True, asks=True)
        self._view.verbose = self.verbosity == "verbose"
        return self._view

    def configure(self, *, color: bool, verbosity: Verbosity) -> None:
        self.paint = Paint(color, self.paint.unicode)
        self.verbosity = verbosity

    def add(self, shown: Shown) -> None:
        self._made().add(shown)
        self.changed()

    def changed(self) -> None:
        """Draws soon."""
        if self._timer is None and not self._paused and self._line.app.is_running:
            wait = max(0.0, self._drawn_at + FRAME - time.monotonic())
            self._timer = asyncio.get_running_loop().call_later(wait, self._draw)

    async def settled(self) -> None:
        """Returns when all that was added can be seen."""
        if self._timer is not None or self._paused:
            settled = asyncio.get_running_loop().create_future()
            self._waiting.append(settled)
            await settled

    def pause(self, paused: bool) -> None:
        """Another program has the terminal."""
        self._paused = paused
        self.changed()

    def clear(self) -> None:
        self._line.app.renderer.clear()
        self._line.app.invalidate()

    def close(self) -> None:
        """Nothing is drawn any more."""
        self._tell_settled()
        if self._timer is not None:
            self._timer.cancel()
        self._paused = True
        self._line.set_tail([])

    def print_rest(self) -> None:
        """All that has not been drawn, now that the input line is gone."""
        if self._transcript is None:
            return
        while self._transcript.advance(1.0):
            pass
        if lines := self._transcript.lines():
            self._output.write_raw("".join(f"{line}\r\n" for line in lines))
            with contextlib.suppress(OSError):  # the terminal is gone
                self._output.flush()

    def _draw(self) -> None:
        self._timer = None
        if self._paused or not self._line.app.is_running:
            return
        size = self._output.get_size()
        transcript = self._made()
        transcript.width = size.columns
        transcript.verbosity = self.verbosity
        more = transcript.advance(BUDGET)
        lines = transcript.lines()
        below = [self.paint.dim(line) for line in self._below()]
        tail = transcript.tail(size.rows - self._line.input_rows - len(below) - 3)
        self._line.set_tail([*tail, *below])
        if lines:
            self._line.print_above(lines)
        else:
            self._line.app.invalidate()
        self._drawn_at = time.monotonic()
        if more:
            self._timer = asyncio.get_running_loop().call_later(PAUSE, self._work)
        else:
            self._tell_settled()

    def _tell_settled(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def _work(self) -> None:
        """Works off a burst between two drawings."""
        self._timer = None
        if time.monotonic() >= self._drawn_at + FRAME:
            self._draw()
        elif self._made().advance(BUDGET):
            self._timer = asyncio.get_running_loop().call_later(PAUSE, self._work)
        else:
            self.changed()

    def _made(self) -> Transcript:
        if self._transcript is None:
            from agent_chat.ui.transcript import Transcript

            self._transcript = Transcript(self.paint, self._output.get_size().columns, self.verbosity)
        return self._transcript


def warm() -> None:
    """Loads what draws the first answer; meant for a thread, while the user still types."""
    for module in ("view", "transcript", "markdown", "render"):
        importlib.import_module(f"agent_chat.ui.{module}")
