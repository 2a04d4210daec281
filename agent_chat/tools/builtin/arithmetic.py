"""Arithmetic on what people write, bounded in size and time.

Whole and decimal numbers are fractions, so that 0.1 + 0.2 is 0.3 and 1 / 3 * 3 is 1; roots and other
functions give floating-point numbers. Results that are not whole are shown exactly where that takes at most
30 digits, else rounded to 15.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, cast

import simpleeval  # pyright: ignore[reportMissingTypeStubs]

from agent_chat.core.observation import excerpt
from agent_chat.tools.builtin.assembly import assemble
from agent_chat.tools.builtin.notation import Names, read
from agent_chat.tools.errors import ToolError

Number = int | float | Fraction

MAX_LENGTH = 1_000
"""Characters of an expression."""
MAX_BITS = 12_000
"""Of a whole number or of a part of a fraction: about 3,600 digits."""
MAX_FACTORIAL = 1_000
EXACT_DIGITS = 30
ROUNDED_DIGITS = 15


def calculate(expression: str) -> str:
    """The value, as text. Raises `ToolError`, which says what is wrong."""
    if len(expression) > MAX_LENGTH:
        raise ToolError(f"the expression is longer than {MAX_LENGTH:,} characters")
    written = assemble(read(expression, _NAMES), _NAMES)
    try:
        tree = ast.parse(written, mode="eval").body
        return show(_evaluate(_Exact().visit(tree)))
    except (SyntaxError, MemoryError):
        raise ToolError(f"this is not a complete expression: {excerpt(written, 200).text}") from None
    except RecursionError:
        raise ToolError("the expression has too many parts; calculate it in several steps") from None
    except ZeroDivisionError:
        raise ToolError("division by zero") from None
    except OverflowError:
        raise ToolError("the result is too large") from None
    except (simpleeval.InvalidExpression, TypeError, ValueError) as error:
        raise ToolError(_explained(error)) from None


def show(value: object) -> str:
    """A number without needless digits; `true` or `false` for a comparison."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ToolError("the result is not a number" if math.isnan(value) else "the result is too large")
        return _plain(Decimal(f"{value:.{ROUNDED_DIGITS - 1}e}"))
    if isinstance(value, Fraction):
        return _plain(_decimal(value))
    raise ToolError("the result is not a real number")


def _decimal(value: Fraction) -> Decimal:
    exact = Context(prec=EXACT_DIGITS)
    quotient = exact.divide(Decimal(value.numerator), Decimal(value.denominator))
    if Fraction(quotient) == value:
        return quotient
    return Context(prec=ROUNDED_DIGITS).plus(quotient)


def _plain(value: Decimal) -> str:
    if not value:
        return "0"
    value = value.normalize(Context(prec=EXACT_DIGITS))
    return f"{value:f}" if -7 <= value.adjusted() < 21 else f"{value:e}"


class _Exact(ast.NodeTransformer):
    """Decimal numbers become fractions; a percentage that is added or taken away is one of the left side."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, float):
            if not math.isfinite(node.value):
                raise OverflowError
            return ast.Constant(Fraction(repr(node.value)))  # type: ignore[arg-type]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if (
            isinstance(node.op, ast.Add | ast.Sub)
            and _is_percentage(node.right)
            and not _is_percentage(node.left)
        ):
            share = ast.BinOp(ast.Constant(1), node.op, node.right)
            return ast.BinOp(node.left, ast.Mult(), share)
        return node


def _is_percentage(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "percent"


def _evaluate(tree: ast.expr) -> object:
    evaluator: Any = simpleeval.SimpleEval(_OPERATORS, dict(_FUNCTIONS), dict(_CONSTANTS))
    return evaluator.eval("", tree)


def _bounded(value: Any) -> Any:
    parts = (value.numerator, value.denominator) if isinstance(value, int | Fraction) else ()
    if any(part.bit_length() > MAX_BITS for part in parts):
        raise OverflowError
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value


def _exactly(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *numbers: _bounded(function(*numbers))


def _divide(left: Number, right: Number) -> Number:
    if isinstance(left, float) or isinstance(right, float):
        return left / right
    return _bounded(Fraction(left) / Fraction(right))


def _floor_divide(left: Number, right: Number) -> Number:
    return _bounded(left // right)


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, float) or isinstance(exponent, float) or Fraction(exponent).denominator != 1:
        result: Any = float(base) ** float(exponent)
        if isinstance(result, complex):
            raise ToolError("a root of a negative number is not a real number")
        return _rounded(result)
    exact, whole = Fraction(base), int(exponent)
    if abs(exact) not in (0, 1):
        bits = max(exact.numerator.bit_length(), exact.denominator.bit_length())
        if bits * abs(whole) > 2 * MAX_BITS:
            raise OverflowError
    return _bounded(exact**whole)


def _rounded(value: float) -> float:
    """Without the last, uncertain digits, so that sin(pi) is 0 and 8 ** (1/3) is 2."""
    return round(value, 15) if abs(value) < 1 else float(f"{value:.14e}")


def _float(function: Callable[..., float]) -> Callable[..., float]:
    return lambda *numbers: _rounded(function(*(float(number) for number in numbers)))


def _tan(angle: Number) -> float:
    if abs(math.cos(angle)) < 1e-15:
        raise ToolError("the tangent of a right angle is not a number")
    return _rounded(math.tan(angle))


def _sqrt(value: Number) -> Number:
    if value < 0:
        raise ToolError("a root of a negative number is not a real number")
    if not isinstance(value, float):
        exact = Fraction(value)
        root = Fraction(math.isqrt(exact.numerator), math.isqrt(exact.denominator))
        if root * root == exact:
            return _bounded(root)
    return _rounded(math.sqrt(value))


def _log(value: Number, base: Number | None = None) -> float:
    return _rounded(math.log(value) if base is None else math.log(value) / math.log(base))


def _round(value: Number, digits: Number = 0) -> Number:
    """Halves are rounded away from zero, as people do."""
    places = _whole(digits)
    if abs(places) > 100:
        raise OverflowError
    scaled = Fraction(value) * Fraction(10) ** places
    whole = math.floor(abs(scaled) + Fraction(1, 2))
    return _bounded(Fraction(whole if scaled >= 0 else -whole) / Fraction(10) ** places)


def _whole(value: Number, *, at_most: int | None = None) -> int:
    if Fraction(value).denominator != 1:
        raise ToolError(f"{show(value)} is not a whole number")
    if at_most is not None and abs(value) > at_most:
        raise OverflowError
    return int(value)


def _factorial(value: Number) -> int:
    if value < 0:
        raise ToolError("the factorial of a negative number is not a number")
    return _bounded(math.factorial(_whole(value, at_most=MAX_FACTORIAL)))


def _on_whole(function: Callable[..., int], at_most: int | None = None) -> Callable[..., int]:
    return lambda *numbers: _bounded(function(*(_whole(number, at_most=at_most) for number in numbers)))


def _sum(*numbers: Number) -> Number:
    return _bounded(sum(numbers))


def _least(*numbers: Number) -> Number:
    return min(numbers)


def _greatest(*numbers: Number) -> Number:
    return max(numbers)


def _same(number: Number) -> Number:
    return number


def _percent(number: Number) -> Number:
    return _divide(number, 100)


def _mean(*numbers: Number) -> Number:
    return _divide(sum(numbers), len(numbers))


_CONSTANTS: Mapping[str, Number] = {"pi": math.pi, "e": math.e, "tau": math.tau}

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: _exactly(operator.add),
    ast.Sub: _exactly(operator.sub),
    ast.Mult: _exactly(operator.mul),
    ast.Div: _divide,
    ast.FloorDiv: _floor_divide,
    ast.Mod: _exactly(operator.mod),
    ast.Pow: _power,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}

_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs, "round": _round, "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc,
    "int": math.trunc, "float": _same,
    "min": _least, "max": _greatest, "sum": _sum, "mean": _mean, "avg": _mean, "average": _mean,
    "sqrt": _sqrt, "cbrt": _float(math.cbrt),
    "pow": _power, "exp": _float(math.exp), "mod": _exactly(operator.mod),
    "log": _log, "ln": _log, "log10": _float(math.log10), "log2": _float(math.log2),
    "sin": _float(math.sin), "cos": _float(math.cos), "tan": _tan,
    "asin": _float(math.asin), "acos": _float(math.acos), "atan": _float(math.atan),
    "atan2": _float(math.atan2), "sinh": _float(math.sinh), "cosh": _float(math.cosh),
    "tanh": _float(math.tanh), "hypot": _float(math.hypot),
    "radians": math.radians, "degrees": _float(math.degrees),
    "factorial": _factorial, "gcd": _on_whole(math.gcd), "lcm": _on_whole(math.lcm),
    "comb": _on_whole(math.comb, MAX_FACTORIAL), "perm": _on_whole(math.perm, MAX_FACTORIAL),
    "percent": _percent,
}  # fmt: skip

_MANY = {"round", "min", "max", "sum", "mean", "avg", "average", "pow", "mod", "log", "ln", "atan2", "hypot"}
_NAMES = Names(_FUNCTIONS, _CONSTANTS, _MANY | {"gcd", "lcm", "comb", "perm"})
_KNOWN = ", ".join([*_CONSTANTS, *_FUNCTIONS])


def _explained(error: Exception) -> str:
    match error:
        case simpleeval.NameNotDefined():
            return f"unknown name {cast('Any', error).name!r}; known are {_KNOWN}"
        case simpleeval.FunctionNotDefined():
            return f"unknown function {cast('Any', error).func_name!r}; known are {_KNOWN}"
        case simpleeval.InvalidExpression():
            return "only numbers, operators and functions can be used"
        case ValueError():
            return "the function is not defined for this number"
        case _:
            return "a function was given too many or too few arguments"
