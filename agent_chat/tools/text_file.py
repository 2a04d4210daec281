"""A part of a text file of any size and encoding, read without reading the rest."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

SNIFFED = 64 * 1024
"""Bytes from which encoding and kind are told."""
CHUNK = 1024 * 1024
COUNTED = 32 * 1024 * 1024
"""Files up to so many bytes are counted in lines to the end."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_TEXT_CONTROLS = b"\t\n\r\f\b\x1b"
_NOT_CONTROL = bytes(byte for byte in range(256) if byte >= 32 or byte in _TEXT_CONTROLS)


class BinaryContent(Exception):
    """The file holds something else than text."""

    def __init__(self, size: int) -> None:
        super().__init__(f"{size} bytes that are not text")
        self.size = size


class Stopped(Exception):
    """Nobody waits for the result any more."""


@dataclass(frozen=True, slots=True)
class Encoding:
    name: str
    bom: int = 0
    """Bytes of the mark in front."""

    @property
    def wide(self) -> bool:
        return self.name.startswith(("utf-16", "utf-32"))


@dataclass(frozen=True, slots=True)
class Window:
    """Some lines of a file, without their line ends."""

    lines: tuple[str, ...]
    first: int
    """Number of the first line, from 1."""
    more: bool
    """Whether the file goes on."""
    total: int | None
    """Lines of the whole file, where they were counted."""
    size: int
    """Bytes of the whole file."""
    encoding: Encoding
    cut: bool = False
    """Whether the only line is longer than what is shown of it."""

    @property
    def next(self) -> int:
        return self.first + len(self.lines)


def detect(head: bytes, *, whole: bool) -> Encoding | None:
    """UTF-8, what a byte order mark says, or Windows-1252; None for what is no text."""
    for bom, name in _BOMS:
        if head.startswith(bom):
            return Encoding(name, len(bom))
    if b"\0" in head:
        return None
    controls = len(head.translate(None, _NOT_CONTROL))
    try:
        codecs.getincrementaldecoder("utf-8")("strict").decode(head, final=whole)
    except UnicodeDecodeError:
        return None if controls * 50 > len(head) else Encoding("cp1252")
    return None if controls * 10 > len(head) else Encoding("utf-8")


def read_window(
    file: BinaryIO, *, offset: int, limit: int, characters: int, stopped: Callable[[], bool]
) -> Window:
    """Up to `limit` lines from line `offset` on, of together at most `characters`.

    Lines end with a line feed; a carriage return before it is left out. Raises `BinaryContent`, `Stopped`,
    OSError. `file` is closed.
    """
    with file:
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        head = file.read(SNIFFED)
        encoding = detect(head, whole=len(head) < SNIFFED)
        if encoding is None:
            raise BinaryContent(size)
        file.seek(encoding.bom)
        before = 0 if encoding.wide else _skip_bytes(file, offset - 1, stopped)
        text = io.TextIOWrapper(file, encoding.name, errors="replace", newline="\n")
        with text:
            if encoding.wide:
                before = _skip_text(text, offset - 1, stopped)
            lines, more, cut = _take_lines(text, limit, characters)
            total = None
            if not more and not cut:
                total = before + len(lines)
            elif not encoding.wide and size <= COUNTED:
                total = _count_lines(file, stopped)
            return Window(tuple(lines), offset, more, total, size, encoding, cut)


def _skip_text(text: io.TextIOWrapper, count: int, stopped: Callable[[], bool]) -> int:
    """Moves behind `count` lines; gives how many there were."""
    seen, ended = 0, True
    while seen < count and (piece := text.readline(CHUNK)):
        _check(stopped)
        ended = piece.endswith("\n")
        seen += ended
    return seen + (not ended)


def _skip_bytes(file: BinaryIO, count: int, stopped: Callable[[], bool]) -> int:
    """The same, many times as fast, where a line feed is one byte."""
    seen, ended = 0, True
    while seen < count and (chunk := file.read(CHUNK)):
        _check(stopped)
        feeds = chunk.count(b"\n")
        ended = chunk.endswith(b"\n")
        if seen + feeds < count:
            seen += feeds
            continue
        position = -1
        for _ in range(count - seen):
            position = chunk.index(b"\n", position + 1)
        file.seek(position + 1 - len(chunk), io.SEEK_CUR)
        return count
    return seen + (not ended)


def _take_lines(text: io.TextIOWrapper, limit: int, characters: int) -> tuple[list[str], bool, bool]:
    lines: list[str] = []
    used = 0
    while len(lines) < limit:
        line = text.readline(characters + 1)
        if not line:
            return lines, False, False
        if used + len(line) > characters:
            return (lines, True, False) if lines else ([line[:characters]], True, True)
        used += len(line)
        lines.append(line.removesuffix("\n").removesuffix("\r"))
    return lines, bool(text.read(1)), False


def _count_lines(file: BinaryIO, stopped: Callable[[], bool]) -> int:
    file.seek(0)
    count, last = 0, b"\n"
    while chunk := file.read(CHUNK):
        _check(stopped)
        count += chunk.count(b"\n")
        last = chunk[-1:]
    return count + (last != b"\n")


def _check(stopped: Callable[[], bool]) -> None:
    if stopped():
        raise Stopped
