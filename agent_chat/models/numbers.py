"""Numbers in a configuration, wherever they are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agent_chat.core.errors import UserError
from agent_chat.models.deployments import resolve

Place = tuple[Any, str]
"""A value as configured, and what to call it in a message."""


def number(place: Place, environ: Mapping[str, str]) -> float | None:
    """A setting as a number of at least 0; None where it is not given. Raises UserError for anything else."""
    value = resolve(place[0], environ, place[1])
    if value is None:
        return None
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = -1.0
    if not 0 <= found < float("inf"):
        raise UserError(f"{place[1]}: {value!r} is not a number of at least 0.")
    return found


def first_number(places: Iterable[Place], environ: Mapping[str, str], default: float) -> float:
    """The first setting that is given."""
    found = (number(place, environ) for place in places)
    return next((value for value in found if value is not None), default)
