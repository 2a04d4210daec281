"""Surrogates in text that comes in pieces: halves of a pair are joined, lone ones replaced."""

from __future__ import annotations


def mend(text: str) -> str:
    """The text as UTF-8 can carry it: pairs become their character, what is alone U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Mender:
    """Mends a text piece by piece; half a pair at the end of a piece waits for the next one."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        if not self._half and piece.isascii():
            return piece
        piece = self._half + piece
        self._half = ""
        if "\ud800" <= piece[-1:] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        return mend(piece)

    def end(self) -> str:
        """What is left over."""
        half, self._half = self._half, ""
        return mend(half)
