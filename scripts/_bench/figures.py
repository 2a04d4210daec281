"""What a row comes to: its figures, how they stand to their targets, and both ways of writing them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Verdict = Literal["then", "target", "misses", "not measured", "not yet"]
"""Meets the later target too; meets the target; misses it; cannot be measured here; nothing is there yet."""
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a row."""

    row: int
    what: str
    beside: str
    """What it was measured beside, and what that took."""
    value: float | None
    unit: str = "×"
    target: float | None = None
    """The most that it may be."""
    then: float | None = None
    """The most that it may be later."""
    exact: bool = False
    """Whether the target is the one right value."""
    note: str = ""
    missing: Literal["not measured", "not yet"] = "not yet"
    """Why there is no value."""
    samples: Mapping[str, Sequence[float]] = field(default_factory=dict[str, Sequence[float]])
    """What was measured, round by round, in the unit that the name ends with."""

    @property
    def verdict(self) -> Verdict:
        if self.value is None:
            return self.missing
        if self.exact:
            return "then" if self.value == self.target else "misses"
        if self.target is not None and self.value > self.target:
            return "misses"
        if self.then is not None and self.value > self.then:
            return "target"
        return "then"

    def to_json(self) -> dict[str, Any]:
        return {
            "row": self.row,
            "what": self.what,
            "beside": self.beside,
            "value": self.value,
            "unit": self.unit,
            "target": self.target,
            "then": self.then,
            "exact": self.exact,
            "verdict": self.verdict,
            "note": self.note,
            "samples": {name: list(values) for name, values in self.samples.items()},
        }


HEADER = ("#", "what", "beside", "measured", "target", "then", "")
_MARKS: dict[Verdict, str] = {
    "then": "ok, and then",
    "target": "ok",
    "misses": "MISSES",
    "not measured": "not measured here",
    "not yet": "not yet",
}


def table(figures: Iterable[Figure]) -> str:
    """All figures in aligned columns, their notes below."""
    lines = [HEADER, *(_line(figure) for figure in figures)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADER))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    return "\n".join(line.rstrip() for line in text) + "\n"


def notes(figures: Iterable[Figure]) -> str:
    lines = dict.fromkeys(f"{figure.row}: {figure.note}" for figure in figures if figure.note)
    return "".join(f"{line}\n" for line in lines)


def as_json(figures: Iterable[Figure], rounds: int, machine: Mapping[str, Any]) -> str:
    whole = {
        "schema_version": SCHEMA_VERSION,
        "rounds": rounds,
        "machine": dict(machine),
        "figures": [figure.to_json() for figure in figures],
    }
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def _line(figure: Figure) -> tuple[str, ...]:
    bound = "= " if figure.exact else "≤ "
    return (
        str(figure.row),
        figure.what,
        figure.beside,
        _number(figure.value, figure.unit),
        _number(figure.target, figure.unit, bound),
        _number(figure.then, figure.unit, bound),
        _MARKS[figure.verdict],
    )


def _number(value: float | None, unit: str, bound: str = "") -> str:
    if value is None:
        return "–"
    digits = f"{value:.2f}" if unit in ("×", "%", "s") else f"{value:.0f}"
    return f"{bound}{digits}{unit if unit in ('×', '') else ' ' + unit}"
