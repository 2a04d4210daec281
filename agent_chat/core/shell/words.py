"""What a word of a command line stands for: quotes and escapes undone, the uncertain marked."""

from __future__ import annotations

import re

from agent_chat.core.shell.line import Word

_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")
_ANSI = re.compile(
    r"\\(?:([abefnrtv\\'\"?E])|([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8}))"
)
_ANSI_NAMED = dict(zip("abefnrtv\\'\"?E", "\a\b\x1b\f\n\r\t\v\\'\"?\x1b", strict=True))


def read_word(raw: str) -> Word:
    """The word that `raw`, the source of one word, stands for."""
    text = ""
    bare = ""
    place = 0
    while place < len(raw):
        letter = raw[place]
        if letter == "\\":
            step = raw[place + 1 : place + 2]
            text += "" if step == "\n" else step
            place += 2
        elif letter == "'":
            end = raw.find("'", place + 1)
            if end < 0:
                return Word(raw, fixed=False)
            text += raw[place + 1 : end]
            place = end + 1
        elif raw.startswith("$'", place):
            quoted = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL).match(raw, place)
            decoded = _ansi(quoted.group(1)) if quoted else None
            if quoted is None or decoded is None:
                return Word(raw, fixed=False)
            text += decoded
            place = quoted.end()
        elif letter == '"' or raw.startswith('$"', place):
            quoted = re.compile(r'\$?"((?:[^"\\$`]|\\.)*)"', re.DOTALL).match(raw, place)
            if quoted is None:
                return Word(raw, fixed=False)
            text += re.sub(r"\\(\n|[\"\\$`])", _unescaped, quoted.group(1))
            place = quoted.end()
        elif (
            letter == "`"
            or (letter == "$" and place + 1 < len(raw))
            or raw[place : place + 2] in ("<(", ">(")
        ):
            return Word(raw, fixed=False)
        else:
            text += letter
            bare += letter
            place += 1
    if _BRACES.search(raw):
        return Word(raw, fixed=False)
    return Word(text, globbed=any(sign in bare for sign in "*?["))


def _unescaped(found: re.Match[str]) -> str:
    return "" if found.group(1) == "\n" else found.group(1)


def _ansi(text: str) -> str | None:
    def decoded(found: re.Match[str]) -> str:
        named, octal, *hexes = found.groups()
        if named:
            return _ANSI_NAMED[named]
        number = int(octal, 8) & 0xFF if octal else int(next(filter(None, hexes)), 16)
        return chr(number)

    try:
        result = _ANSI.sub(decoded, text)
    except (ValueError, OverflowError):
        return None
    # An escape that is not known here, and a NUL, end up in the word in ways that shells disagree about.
    return None if "\\" in _ANSI.sub("", text) or "\0" in result else result
