"""A Python expression from the tokens of a calculation."""

from __future__ import annotations

from typing import assert_never

from agent_chat.tools.builtin.notation import KEYWORDS, Names, Token
from agent_chat.tools.errors import ToolError

_POSTFIX = {"%": "percent", "!": "factorial", "°": "radians"}


def assemble(tokens: list[Token], names: Names) -> str:
    """What stands behind its operand becomes a call, operands side by side a product. Raises `ToolError`."""
    if not tokens:
        raise ToolError("there is nothing to calculate")
    assembler = _Assembler(names)
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        assembler.add(token, following)
    return assembler.finish()


class _Assembler:
    def __init__(self, names: Names) -> None:
        self._names = names
        self._parts: list[str] = []
        self._opened: list[int] = []
        """Where each open parenthesis begins, with the function before it."""
        self._operand: int | None = None
        """Where the operand that has just ended begins."""
        self._bare_call: int | None = None
        """Where a function without parentheses begins: `sqrt 16`."""

    def add(self, token: Token, following: Token | None) -> None:
        if token.kind in {"number", "name", "open"} and token.text.lower() not in KEYWORDS:
            self._multiply_before(token)
        match token.kind:
            case "number":
                self._number(token)
            case "name":
                self._name(token, following)
            case "open":
                called = bool(self._parts) and self._parts[-1] in self._names.functions
                self._opened.append(len(self._parts) - called)
                self._parts.append("(")
            case "close":
                if not self._opened:
                    raise ToolError("there is a closing parenthesis too many")
                self._end_operand(self._opened.pop(), ")")
            case "comma":
                if not self._opened or self._parts[self._opened[-1]] not in self._names.functions:
                    raise ToolError("commas divide the arguments of a function; the decimal sign is a point")
                self._write(",")
            case "multiple":
                self._wrap("(", f"* {token.text} )", token.text)
            case "postfix":
                self._wrap(f"{_POSTFIX[token.text]} (", ")", token.text)
            case "operator":
                self._operator(token, following)
            case _:
                assert_never(token.kind)

    def finish(self) -> str:
        if self._opened:
            raise ToolError("there is a closing parenthesis missing")
        return " ".join(self._parts)

    def _write(self, text: str) -> None:
        self._parts.append(text)
        self._operand = None

    def _end_operand(self, start: int, text: str) -> None:
        self._parts.append(text)
        self._operand = start

    def _multiply_before(self, token: Token) -> None:
        if self._operand is None:
            return
        if token.kind == "number" and self._parts[-1][-1:].isdigit():
            raise ToolError(f"there is no operator between {self._parts[-1]} and {token.text}")
        self._write("*")

    def _number(self, token: Token) -> None:
        digits = token.text.replace("_", "")
        # Leading zeros are allowed to people.
        self._end_operand(len(self._parts), (digits.lstrip("0") or "0") if digits.isdigit() else digits)
        if self._bare_call is not None:
            self._end_operand(self._bare_call, ")")
            self._bare_call = None

    def _name(self, token: Token, following: Token | None) -> None:
        keyword = token.text.lower()
        if keyword in KEYWORDS:
            self._write("%" if keyword == "mod" else keyword)
        elif token.text in self._names.functions and following is not None and following.kind == "open":
            self._write(token.text)
        elif token.text in self._names.functions and following is not None and following.kind == "number":
            self._bare_call = len(self._parts)
            self._write(token.text)
            self._write("(")
        else:
            self._end_operand(len(self._parts), token.text)

    def _operator(self, token: Token, following: Token | None) -> None:
        is_percent = following is None or following.kind in {"operator", "close", "comma", "postfix"}
        if token.text == "%" and is_percent:
            self._wrap("percent (", ")", "%")
        else:
            self._write("==" if token.text == "=" else token.text)

    def _wrap(self, before: str, behind: str, sign: str) -> None:
        if self._operand is None:
            raise ToolError(f"there is no number before {sign!r}")
        start = self._operand
        self._parts[start] = f"{before} {self._parts[start]}"
        self._end_operand(start, behind)
