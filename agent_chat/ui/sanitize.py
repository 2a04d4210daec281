"""Text from models, tools and files, made harmless for a terminal.

Every character that could act on the terminal is replaced on its own, so that it does not matter how a
stream is cut into pieces: the escape character of a sequence turns into a visible sign and the rest of
the sequence is then ordinary text.

- C0 controls and DEL become their control pictures (ESC is shown as `␛`); newline and tab stay, a
  carriage return before a newline goes.
- C1 controls and the bidirectional embeddings, overrides and isolates become `<U+202E>`.
- Line and paragraph separators become newlines.
- Invisible format characters without a use on a terminal (soft hyphen, zero-width space, byte order
  mark, tag characters, directional marks) are removed. The joiners and variation selectors stay: emoji
  and several scripts are written with them.
- Lone surrogates become U+FFFD.
"""

from __future__ import annotations

import re

_CONTROL_SET = "\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"
_FORMAT_SET = (
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
)
_CONTROLS = re.compile(f"\r\n|[{_CONTROL_SET}]")
_UNSAFE = re.compile(f"\r\n|[{_CONTROL_SET}{_FORMAT_SET}]")
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def visible(text: str) -> str:
    """For a screen: nothing in it acts on the terminal or hides."""
    return _UNSAFE.sub(_replacement, text)


def revealed(text: str) -> str:
    """`visible` where a person has to see all there is: what is invisible becomes `<U+200B>`."""
    return _UNSAFE.sub(_revealing, text)


def one_line(text: str) -> str:
    """`visible`, on one line: every run of white space is one space."""
    return " ".join(visible(text).split())


def printable(text: str) -> str:
    """For a pipe: unchanged but for the control characters."""
    return _CONTROLS.sub(_replacement, text)


class VisibleStream:
    """`visible` for text that comes in pieces; only a carriage return has to wait for what follows it."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""
        return visible(text[:-1] if self._held else text)

    def end(self) -> str:
        held, self._held = self._held, ""
        return visible(held)


def json_safe(line: str) -> str:
    """For a line of JSON: what may act on a terminal as JSON escapes; the value stays the same."""
    return _UNSAFE.sub(lambda match: "".join(map(_json_escape, match[0])), line)


def _json_escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _revealing(match: re.Match[str]) -> str:
    return _replacement(match) or f"<U+{ord(match[0]):04X}>"


def _replacement(match: re.Match[str]) -> str:
    char = match[0]
    if char == "\r\n":
        return "\n"
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    if code <= 0x9F or char in _BIDI:
        return f"<U+{code:04X}>"
    return "\n" if char in "\u2028\u2029" else ""
