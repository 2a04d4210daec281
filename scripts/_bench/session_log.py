"""Rows 17 and 18: what keeping events costs, and finding them again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from statistics import mean, median
from typing import Any

from .bench import Bench
from .figures import Figure
from .processes import run_json, subject
from .rounds import interleave, ratio

EVENTS = 4_000
MANY = 100_000


def _value(bench: Bench, *arguments: str) -> Any:
    return run_json(subject("log", *arguments), bench.environ, cwd=bench.folder)["value"]


def keeping(bench: Bench) -> Iterator[Figure]:
    found: dict[str, list[list[float]]] = interleave(
        bench.rounds * (1 if bench.quick else 2),
        {
            "ours": partial(_value, bench, "append", str(EVENTS)),
            "beside": partial(_value, bench, "commits", str(EVENTS)),
        },
    )
    # The median event: what others do on the disk meanwhile is not ours.
    each = {name: [median(times) for times in runs] for name, runs in found.items()}
    yield Figure(
        17,
        "one event kept",
        f"SQLite WAL commit ({median(each['beside']) * 1e6:.1f} µs)",
        ratio(each["ours"], each["beside"]),
        target=5,
        then=2,
        note=f"the median event; the mean is {_mean_ratio(found):.2f}×",
        samples={f"{name}_wall_s": values for name, values in each.items()},
    )
    tenth = EVENTS // 10
    growth = [median(times[-tenth:]) / median(times[:tenth]) for times in found["ours"]]
    yield Figure(
        17,
        f"last tenth over first tenth of {EVENTS:,} events",
        "–",
        median(growth),
        target=1.2,
        then=1.0,
        samples={"ours_ratio": growth},
    )


def _mean_ratio(found: dict[str, list[list[float]]]) -> float:
    return ratio(map(mean, found["ours"]), map(mean, found["beside"]))


def finding(bench: Bench) -> Iterator[Figure]:
    folder = str(bench.folder / "log")
    _value(bench, "fill", folder, str(MANY))
    runs = {name: partial(_value, bench, name, folder) for name in ("list", "search")}
    found = interleave(bench.rounds, runs)
    yield Figure(
        18,
        f"list a log of {MANY:,} events",
        "–",
        median(found["list"]),
        unit="s",
        target=0.3,
        then=0.1,
        samples={"ours_wall_s": found["list"]},
    )
    yield Figure(
        18,
        f"search a log of {MANY:,} events",
        "–",
        median(found["search"]),
        unit="s",
        target=0.3,
        then=0.1,
        note=f"the slower of two; {found['search'][0]:.2f} s the first time, without an index",
        samples={"ours_wall_s": found["search"]},
    )
