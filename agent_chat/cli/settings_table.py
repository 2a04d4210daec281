"""Every setting with its documentation, read from the docstrings of the settings themselves."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from agent_chat.cli import settings
from agent_chat.cli.settings_fields import SettingField, setting_fields

_NAMES = {int: "whole number", float: "number", str: "text", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class Row:
    """One setting."""

    name: str
    type: str
    default: Any
    variable: str
    meaning: str

    @property
    def shown_default(self) -> str:
        return json.dumps(self.default)


def settings_table() -> list[Row]:
    """All settings below `agent`, in the order in which they are declared."""
    meanings = dict(_meanings(settings.AgentSettings, ()))
    return [_row(field, meanings[field.path]) for field in setting_fields()]


def as_markdown() -> str:
    """The table of docs/configuration.md."""
    lines = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for row in settings_table():
        meaning, kind = row.meaning.replace("|", "\\|"), row.type.replace("|", "\\|")
        lines.append(f"| `{row.name}` | {kind} | `{row.shown_default}` | {meaning} |")
    return "\n".join(lines) + "\n"


def _row(field: SettingField, meaning: str) -> Row:
    return Row(field.name, _type(field.annotation), field.default, field.variable, meaning)


def _type(annotation: Any) -> str:
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        return " or ".join("null" if part is NoneType else _type(part) for part in get_args(annotation))
    if origin is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(annotation))
    if origin is tuple:
        return "list of names"
    if origin is not None and not hasattr(annotation, "__metadata__"):
        return "mapping"
    return _NAMES[annotation.__origin__ if hasattr(annotation, "__metadata__") else annotation]


def _meanings(model: type[BaseModel], prefix: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    documented = _docstrings(model)
    for name, info in model.model_fields.items():
        annotation = info.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from _meanings(annotation, (*prefix, name))
        else:
            yield (*prefix, name), documented[name]


def _docstrings(model: type[BaseModel]) -> dict[str, str]:
    """The strings below the fields of a class, its bases' included."""
    found: dict[str, str] = {}
    tree = ast.parse(inspect.getsource(settings))
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for base in reversed(model.__mro__):
        body = classes[base.__name__].body if base.__name__ in classes else []
        for field, text in pairwise(body):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(doc))):
                    found[name] = " ".join(doc.split())
                case _:
                    pass
    return found
