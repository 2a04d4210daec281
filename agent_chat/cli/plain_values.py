"""Command lines whose plain values are taken as they are.

Typer has pydantic convert every value, also those that were not given and those that are text. Loading and
preparing it for that takes as long as all else that comes before the prompt.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

P = TypeVar("P")


class PlainCommand(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return [_plain(parameter) for parameter in super().get_params(ctx)]


class PlainGroup(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return [_plain(parameter) for parameter in super().get_params(ctx)]


class _Option(TyperOption):
    def get_runtime_param(self) -> Any:
        return _Conversion(super().get_runtime_param)


class _Argument(TyperArgument):
    def get_runtime_param(self) -> Any:
        return _Conversion(super().get_runtime_param)


def _plain(parameter: P) -> P:
    # Typer makes its parameters itself and cannot be given other classes for them.
    if type(parameter) is TyperOption:
        parameter.__class__ = _Option
    elif type(parameter) is TyperArgument:
        parameter.__class__ = _Argument
    return parameter


class _Conversion:
    """Typer's own is made only where a value needs it."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def coerce(self, value: Any, param: TyperOption | TyperArgument, ctx: Any) -> Any:
        is_many = param.multiple or param.nargs != 1
        if value is None:
            return () if is_many else None
        annotation: Any = param.type_descriptor.annotation
        if is_many and annotation == list[str] and all(type(item) is str for item in value):
            return list(value)
        # A choice that was not given is the member itself already.
        if not is_many and type(value) is annotation:
            return value
        return self._make().coerce(value, param=param, ctx=ctx)
