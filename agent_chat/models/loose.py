"""Values that came from outside and may be of any type, taken for what they should be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

_EMPTY: dict[str, Any] = {}


def mapping(value: object) -> Mapping[str, Any]:
    """The value as an object; empty where it is none."""
    if type(value) is dict:  # asking for a `Mapping` takes ten times as long, and chunks come by the thousand
        return cast("dict[str, Any]", value)
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else _EMPTY


def sequence(value: object) -> list[Any]:
    """The value as a list; empty where it is none."""
    return cast("list[Any]", value) if isinstance(value, list) else []
