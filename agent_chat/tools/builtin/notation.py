"""Calculations as people write them, rewritten as Python expressions.

`15% of 240` becomes `percent(15) * 240`. Also understood: `^`, `×`, `÷`, `−`, `√`, `π`, `5!`, `30°`,
`1,234.5`, `$20`, `3 km`, `2 million`, `2(3+4)`, `times`, a closing `=`. What is not arithmetic is refused by
name.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Literal

from agent_chat.tools.errors import ToolError

Kind = Literal["number", "name", "operator", "open", "close", "comma", "postfix", "multiple"]

KEYWORDS = frozenset({"and", "or", "not", "mod"})

_TOKENS = re.compile(
    r"""
    (?P<number>(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<name>[^\W\d]\w*)
  | (?P<operator>\*\*|//|==|!=|<=|>=|[-+*/<>=%])
  | (?P<open>[(\[])
  | (?P<close>[)\]])
  | (?P<comma>,)
  | (?P<postfix>[!°])
  | (?P<blank>\s+)
  | (?P<other>.)
    """,
    re.X | re.S,
)
_CURRENCIES = "$€£¥₹"
_SIGNS = str.maketrans(
    {
        "×": "*", "·": "*", "⋅": "*", "∙": "*", "÷": "/", "∕": "/", "⁄": "/", "−": "-", "–": "-", "—": "-",
        "^": "**", "√": " sqrt ", "π": " pi ", "≤": "<=", "≥": ">=", "≠": "!=", "\u00a0": " ", "\u202f": " ",
        "²": "**2", "³": "**3", "‰": "/1000", "％": "%", "`": " ", **dict.fromkeys(_CURRENCIES, " "),
    }
)  # fmt: skip
_WORDS = (
    (re.compile(r"\b(?:divided\s+by|over)\b", re.I), "/"),
    (re.compile(r"\b(?:multiplied\s+by|times|of)\b", re.I), "*"),
    (re.compile(r"\bplus\b", re.I), "+"),
    (re.compile(r"\bminus\b", re.I), "-"),
    (re.compile(r"\bto\s+the\s+power\s+of\b", re.I), "**"),
    (re.compile(r"\bsquared\b", re.I), "**2"),
    (re.compile(r"\bcubed\b", re.I), "**3"),
    (re.compile(r"\bper\s?cent\b", re.I), "%"),
    (re.compile(r"°\s*(?=[CFK]\b)"), " deg"),
    (re.compile(r"(?<=[\d)\s])[xX](?=[\s\d(])"), "*"),
)
_OTHER_BASE = re.compile(r"\b0(?:[xX][0-9a-fA-F]+|[bB][01]+|[oO][0-7]+)\b")
_MULTIPLES = {
    "hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12,
    "mio": 10**6, "mn": 10**6, "bn": 10**9, "dozen": 12,
}  # fmt: skip
_ATTACHED_MULTIPLES = {"k": 10**3, "K": 10**3, "M": 10**6, "B": 10**9}


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str
    attached: bool = True
    """Whether there is no blank before it."""


@dataclass(frozen=True, slots=True)
class Names:
    """What a name in an expression can be, other than a unit."""

    functions: Container[str]
    constants: Container[str]
    many: Container[str]
    """The functions of several arguments, between which a comma divides."""


def read(text: str, names: Names) -> list[Token]:
    """The tokens of a calculation, without thousands separators and units. Raises `ToolError`."""
    tokens = _without_lists(list(_tokens(_plain(text))), names)
    return _without_units(_with_whole_numbers(tokens, names), names)


def _plain(text: str) -> str:
    if len(set(text) & set(_CURRENCIES)) > 1:
        raise ToolError("different currencies: convert them to one first")
    plain = text.strip().removesuffix("?").rstrip().removesuffix("=")
    plain = _OTHER_BASE.sub(lambda found: str(int(found.group(), 0)), plain).translate(_SIGNS)
    for pattern, sign in _WORDS:
        plain = pattern.sub(sign, plain)
    return plain


def _tokens(text: str) -> Iterator[Token]:
    attached = False
    for found in _TOKENS.finditer(text):
        match found.lastgroup:
            case "blank":
                attached = False
                continue
            case "number" | "name" | "operator" | "open" | "close" | "comma" | "postfix" as kind:
                yield Token(kind, found.group(), attached)
            case _:
                raise ToolError(f"{found.group()!r} is not arithmetic; an expression is such as 2 * (3 + 4)")
        attached = True


def _without_lists(tokens: list[Token], names: Names) -> list[Token]:
    """`sum([1, 2])` is `sum(1, 2)`; anywhere else a bracket is a parenthesis."""
    kept: list[Token] = []
    open_brackets: list[Literal["call", "list", "group"]] = []
    for token in tokens:
        if token.kind == "open":
            in_call = bool(open_brackets) and open_brackets[-1] == "call"
            called = bool(kept) and kept[-1].kind == "name" and kept[-1].text in names.functions
            if token.text == "[" and in_call:
                open_brackets.append("list")
                continue
            open_brackets.append("call" if called else "group")
        elif token.kind == "close" and open_brackets and open_brackets.pop() == "list":
            continue
        kept.append(token)
    return kept


def _with_whole_numbers(tokens: list[Token], names: Names) -> list[Token]:
    """`1,234,567` and `1 234 567` are one number; between arguments of a function a comma divides."""
    joined: list[Token] = []
    divides = [False]
    index = 0
    while index < len(tokens):
        token = tokens[index]
        index += 1
        if token.kind == "open":
            divides.append(bool(joined) and joined[-1].kind == "name" and joined[-1].text in names.many)
        elif token.kind == "close" and len(divides) > 1:
            divides.pop()
        elif token.kind == "number":
            token, index = _with_groups(token, tokens, index, comma=not divides[-1])
        joined.append(token)
    return joined


def _with_groups(number: Token, tokens: list[Token], index: int, *, comma: bool) -> tuple[Token, int]:
    digits = number.text
    while re.fullmatch(r"[1-9]\d{0,2}(\d{3})*", digits):
        following = tokens[index : index + 2]
        if comma and len(following) == 2 and following[0].kind == "comma" and following[1].attached:
            group, used = following[1].text, 2
        elif following and following[0].kind == "number":
            group, used = following[0].text, 1
        else:
            break
        if not re.fullmatch(r"\d{3}(\.\d*)?", group):
            break
        digits += group
        index += used
    return Token("number", digits, number.attached), index


def _without_units(tokens: list[Token], names: Names) -> list[Token]:
    """Leaves out what follows a number and is no part of the calculation; `3 million` becomes a product."""
    kept: list[Token] = []
    units: set[str] = set()
    index = 0
    while index < len(tokens):
        token = tokens[index]
        after_operand = bool(kept) and kept[-1].kind in {"number", "close", "multiple"}
        if not after_operand or token.kind != "name" or _has_meaning(tokens, index, names):
            kept.append(token)
            index += 1
        elif multiple := _multiple(token, kept[-1]):
            kept.append(Token("multiple", str(multiple)))
            index += 1
        else:
            index, unit = _unit(tokens, index)
            units.add(unit)
    if len(units) > 1 and any(token.text in {"+", "-"} for token in kept):
        raise ToolError(f"different units ({', '.join(sorted(units))}): convert them to one first")
    return kept


def _has_meaning(tokens: list[Token], index: int, names: Names) -> bool:
    """Whether a name belongs to the calculation; `min` is a function only before its arguments."""
    name = tokens[index].text
    if name in names.functions:
        return index + 1 < len(tokens) and tokens[index + 1].kind in {"open", "number"}
    return name.lower() in KEYWORDS or name in names.constants


def _multiple(name: Token, before: Token) -> int | None:
    if name.attached and before.kind == "number" and name.text in _ATTACHED_MULTIPLES:
        return _ATTACHED_MULTIPLES[name.text]
    return _MULTIPLES.get(name.text.lower())


def _unit(tokens: list[Token], index: int) -> tuple[int, str]:
    """The index behind a unit such as `km`, `km/h` or `m**2`, and the unit in singular."""
    unit = tokens[index].text
    index += 1
    while index + 1 < len(tokens) and tokens[index].attached and tokens[index + 1].attached:
        operator, following = tokens[index], tokens[index + 1]
        joins = operator.text in {"/", "*"} and following.kind == "name"
        raises = operator.text == "**" and following.kind == "number"
        if not joins and not raises:
            break
        unit += operator.text + following.text
        index += 2
    lowered = unit.lower()
    return index, lowered.removesuffix("s") if len(lowered) > 2 else lowered
