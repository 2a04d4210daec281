"""Bytes cut into lines, and the last lines of a stream, both bounded in memory."""

from __future__ import annotations

from collections.abc import Callable

LONGEST_LINE = 8 * 1024 * 1024
"""Bytes of one message; a server that sends a longer one is not listened to any more."""
KEPT = 8_000
"""Bytes of a server's standard error that are kept."""


class Lines:
    """Gives every whole line, without its end, to `take`; after `too_long`, which is called once, none."""

    def __init__(self, take: Callable[[bytes], None], too_long: Callable[[], None]) -> None:
        self._take = take
        self._too_long = too_long
        self._waiting = bytearray()
        self._is_over = False

    def feed(self, data: bytes) -> None:
        if self._is_over:
            return
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._waiting += line
            if len(self._waiting) <= LONGEST_LINE:
                self._take(bytes(self._waiting))
            self._waiting.clear()
        self._waiting += rest
        if len(self._waiting) > LONGEST_LINE:
            self._is_over = True
            self._waiting.clear()
            self._too_long()


class Tail:
    """The end of what was written."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def feed(self, data: bytes) -> None:
        self._kept += data[-KEPT:]
        if len(self._kept) > KEPT:
            del self._kept[:-KEPT]

    @property
    def last_line(self) -> str:
        """The last line that says something; empty where there is none."""
        lines = self._kept.decode("utf-8", "replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
