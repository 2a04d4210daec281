"""Text that can be stored and sent, whatever it came from."""

from __future__ import annotations


def storable(text: str) -> str:
    """The text in a form that UTF-8 can carry: split surrogate pairs joined, lone ones made U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
