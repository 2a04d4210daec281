"""Output of any size in bounded memory: its head and its tail."""

from __future__ import annotations

from dataclasses import dataclass

HEAD = 1_000_000
TAIL = 500_000
"""Bytes that are kept of the beginning and of the end."""


@dataclass(frozen=True, slots=True)
class Captured:
    text: str
    size: int
    elided: int


class Capture:
    """Takes bytes as they come; holds at most `head` + 2 * `tail` of them."""

    def __init__(self, head: int = HEAD, tail: int = TAIL) -> None:
        self._limits = (head, tail)
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0

    def feed(self, data: bytes) -> None:
        head, tail = self._limits
        self._size += len(data)
        room = head - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * tail:
            del self._tail[:-tail]

    def captured(self) -> Captured:
        """What has come so far, as text."""
        _, limit = self._limits
        if self._size <= len(self._head) + min(len(self._tail), limit):
            return Captured(_text(self._head + self._tail), self._size, 0)
        head = _without_partial_end(self._head)
        tail = _without_partial_start(self._tail[-limit:])
        elided = self._size - len(head) - len(tail)
        mark = f"\n[… {elided:,} of {self._size:,} bytes left out …]\n"
        return Captured(_text(head) + mark + _text(tail), self._size, elided)


def _text(data: bytes | bytearray) -> str:
    return data.decode("utf-8", "replace").replace("\0", "\ufffd")


def _without_partial_end(data: bytearray) -> bytearray:
    """Without the bytes of a character that was cut in half."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if needed > back else data
        if byte < 0x80:
            break
    return data


def _without_partial_start(data: bytearray) -> bytearray:
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]
