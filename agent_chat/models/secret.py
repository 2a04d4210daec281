"""Keys and headers that can travel, or a message that says why they cannot."""

from __future__ import annotations

from agent_chat.core.errors import UserError


def clean_key(value: str, source: str) -> str:
    """The key without blanks around it. Raises UserError, which never shows the key, where a character of
    it cannot stand in a header; `source` is the variable or setting that it came from."""
    key = value.strip(" \t\r\n")
    position = _first_bad(key)
    if position is None:
        return key
    offset = position + len(value) - len(value.lstrip(" \t\r\n"))
    raise UserError(
        f"{source}: the key has {_named(key[position])} at position {offset + 1}, which no key can have.",
        hint="Copy the key again; such characters often come along from a web page or a file.",
    )


def clean_header(name: str, value: str) -> str:
    """The value of a header. Raises UserError where it cannot be sent."""
    value = value.strip(" \t\r\n")
    where = f"header {name!r}"
    if not name or _first_bad(name) is not None or any(char in name for char in ' \t:"(),/;<=>?@[\\]{}'):
        raise UserError(f"{where} is not a name that a header can have.", hint="Use letters, digits and '-'.")
    position = _first_bad(value, blanks=True)
    if position is None:
        return value
    raise UserError(
        f"{where}: {_named(value[position])} at position {position + 1} cannot be sent.",
        hint="Headers carry plain ASCII text only.",
    )


def _first_bad(text: str, *, blanks: bool = False) -> int | None:
    lowest = " " if blanks else "!"
    return next((i for i, char in enumerate(text) if not lowest <= char <= "~"), None)


def _named(char: str) -> str:
    if char == "\n":
        return "a line break"
    return "a blank" if char == " " else f"the character U+{ord(char):04X}"
