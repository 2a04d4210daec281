"""Rounds in which everything that is compared takes its turn: A B A B …"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from statistics import median
from typing import TypeVar

T = TypeVar("T")


def interleave(rounds: int, subjects: Mapping[str, Callable[[], T]]) -> dict[str, list[T]]:
    """Runs every subject once a round, after a round that does not count: it fills the machine's caches."""
    found: dict[str, list[T]] = {name: [] for name in subjects}
    if rounds > 1:
        for run in subjects.values():
            run()
    for _ in range(rounds):
        for name, run in subjects.items():
            found[name].append(run())
    return found


def ratio(ours: Iterable[float], theirs: Iterable[float]) -> float:
    """Median over median."""
    return median(ours) / median(theirs)
