"""Output shown while it comes, at a pace that a screen can follow."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Callable

INTERVAL = 0.05
"""Seconds between two pieces."""
PIECE = 8_000
"""Characters of one piece; of more, the last ones are shown."""


class Live:
    """Turns bytes into pieces of text for `show`; a flood is thinned, so that it never outruns the screen."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting = ""
        self._skipped = 0
        self._timer: asyncio.TimerHandle | None = None

    def feed(self, data: bytes) -> None:
        self._take(self._decoder.decode(data))
        if self._timer is None and self._waiting:
            self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._flush)

    def close(self) -> None:
        """Shows what is still waiting."""
        if self._timer is not None:
            self._timer.cancel()
        self._take(self._decoder.decode(b"", final=True))
        self._flush()

    def _take(self, text: str) -> None:
        self._waiting += text.replace("\0", "\ufffd")
        over = len(self._waiting) - PIECE
        if over > 0:
            self._skipped += over
            self._waiting = self._waiting[over:]

    def _flush(self) -> None:
        self._timer = None
        if not self._waiting:
            return
        mark = f"\n[… {self._skipped:,} characters not shown …]\n" if self._skipped else ""
        self._show(mark + self._waiting)
        self._waiting, self._skipped = "", 0
