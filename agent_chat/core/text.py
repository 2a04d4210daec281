"""Text that can be stored and sent, whatever it came from."""

from __future__ import annotations


def storable(text: str) -> str:
    """The text with lone surrogates, which no UTF-8 can carry, replaced by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace") if _has_surrogate(text) else text


def _has_surrogate(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False
