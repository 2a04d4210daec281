"""Command lines whose plain values are taken as they are.

Typer has pydantic convert every value, also those that were not given and those that are text. Loading and
preparing it for that takes as long as all else that comes before the prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption


class PlainCommand(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _take_plain_values(self.params)
        return super().parse_args(ctx, args)


class PlainGroup(TyperGroup):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _take_plain_values(self.params)
        return super().parse_args(ctx, args)


class _Option(TyperOption):
    def process_value(self, ctx: Any, value: Any) -> Any:
        return _converted(self, value) if _is_plain(self, value) else super().process_value(ctx, value)


class _Argument(TyperArgument):
    def process_value(self, ctx: Any, value: Any) -> Any:
        return _converted(self, value) if _is_plain(self, value) else super().process_value(ctx, value)


def _take_plain_values(parameters: Sequence[object]) -> None:
    for parameter in parameters:
        # Typer makes its parameters itself and cannot be given other classes for them.
        if type(parameter) is TyperOption:
            parameter.__class__ = _Option
        elif type(parameter) is TyperArgument:
            parameter.__class__ = _Argument


def _is_plain(parameter: TyperOption | TyperArgument, value: Any) -> bool:
    """Whether the result is known without pydantic."""
    if parameter.required or parameter.callback is not None:
        return False
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    if value is None:
        return True
    if _takes_many(parameter):
        return annotation == list[str] and all(type(item) is str for item in value)
    # A choice that was not given is the member itself already.
    return isinstance(annotation, type) and type(value) is annotation


def _converted(parameter: TyperOption | TyperArgument, value: Any) -> Any:
    if _takes_many(parameter):
        return list(value) if value else ()
    return value


def _takes_many(parameter: TyperOption | TyperArgument) -> bool:
    return parameter.multiple or parameter.nargs != 1
