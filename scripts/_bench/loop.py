"""Rows 5 to 10: what the loop costs, measured inside the process, beside the same loop written by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

from .bench import Bench
from .figures import Figure
from .processes import run_json, subject
from .rounds import interleave, ratio

SHORT, LONG = 50, 200
CHUNKS = 20_000
TURNS = 1_000
WORDS = 300
"""Of each answer of a session whose window has to be cleared now and then."""
RAW = "raw httpx loop"


def _value(bench: Bench, program: list[str]) -> Any:
    return run_json(program, bench.environ, cwd=bench.folder)["value"]


def _iterations(bench: Bench, calls: int, transport: str) -> Callable[[], float]:
    return partial(_value, bench, subject("ours", "iterations", bench.base(f"tools-{calls}"), transport))


def _raw(bench: Bench, what: str, script: str, *arguments: str) -> Callable[[], Any]:
    return partial(_value, bench, subject("raw_httpx", what, bench.base(script), *arguments))


def iterations(bench: Bench) -> Iterator[Figure]:
    """Rows 5 and 7."""
    found = interleave(
        bench.rounds * (1 if bench.quick else 2),
        {
            "ours_50": _iterations(bench, SHORT, "direct"),
            "beside_50": _raw(bench, "iterations", f"tools-{SHORT}"),
            "ours_200": _iterations(bench, LONG, "direct"),
            "beside_200": _raw(bench, "iterations", f"tools-{LONG}"),
        },
    )
    samples = {f"{name}_cpu_s": values for name, values in found.items()}
    beside = median(found["beside_50"])
    yield Figure(
        5,
        f"iteration of {SHORT}, direct, log on: CPU",
        f"{RAW} ({beside * 1000:.2f} ms)",
        ratio(found["ours_50"], found["beside_50"]),
        target=5,
        then=3,
        samples=samples,
    )
    growth = ratio(found["beside_200"], found["beside_50"])
    yield Figure(
        7,
        f"iteration of {LONG} over iteration of {SHORT}",
        f"– ({RAW}: {growth:.2f}×)",
        ratio(found["ours_200"], found["ours_50"]),
        target=1.5,
        then=1.3,
        samples=samples,
    )


def litellm_iterations(bench: Bench) -> Iterator[Figure]:
    base = bench.base(f"tools-{SHORT}")
    found = interleave(
        bench.rounds,
        {
            "ours": _iterations(bench, SHORT, "litellm"),
            "beside": partial(_value, bench, subject("raw_litellm", base)),
        },
    )
    yield Figure(
        6,
        f"iteration of {SHORT}, LiteLLM, log on: CPU",
        f"raw litellm loop ({median(found['beside']) * 1000:.1f} ms)",
        ratio(found["ours"], found["beside"]),
        target=1.15,
        then=1.08,
        samples={f"{name}_cpu_s": values for name, values in found.items()},
    )


def turns(bench: Bench) -> Iterator[Figure]:
    base = bench.base("answer")
    count = str(TURNS)
    found = interleave(
        bench.rounds,
        {
            "ours": partial(_value, bench, subject("ours", "turns", base, "direct", count)),
            "beside": _raw(bench, "turns", "answer", count),
            "long": partial(
                _value, bench, subject("ours", "long", bench.base(f"counted-{WORDS}"), "direct", count)
            ),
        },
    )
    growth = {name: [_growth(times) for times in runs] for name, runs in found.items()}
    yield Figure(
        8,
        "turn 1,000 over turn 10: CPU",
        f"– ({RAW}: {median(growth['beside']):.2f}×)",
        median(growth["ours"]),
        target=4,
        then=3,
        note="medians of turns 5 to 15 and of the last ten",
        samples={f"{name}_ratio": values for name, values in growth.items()},
    )
    yield Figure(
        8,
        "the same with summaries, in a window of 16,000 tokens",
        "–",
        median(growth["long"]),
        target=4,
        then=3,
        samples={"long_ratio": growth["long"]},
    )


def _growth(times: list[float]) -> float:
    return median(times[-10:]) / median(times[4:15])


def eight(bench: Bench) -> Iterator[Figure]:
    base = bench.base("eight")
    found = interleave(
        bench.rounds,
        {
            kind: partial(_value, bench, subject("ours", "eight", base, "direct", kind))
            for kind in ("async", "sync")
        },
    )
    for kind, seconds in found.items():
        yield Figure(
            9,
            f"turn with eight {kind} tools of 100 ms",
            "100 ms",
            median(seconds) / 0.1,
            target=1.2,
            then=1.1,
            note="the whole turn, both model calls in it; the fastest of five in a process",
            samples={"ours_wall_s": seconds},
        )


def chunks(bench: Bench) -> Iterator[Figure]:
    script, count = f"chunks-{CHUNKS}", str(CHUNKS)
    found = interleave(
        bench.rounds * (1 if bench.quick else 2),
        {
            "ours": partial(_value, bench, subject("ours", "chunks", bench.base(script), "direct", count)),
            "beside": _raw(bench, "chunks", script, count),
        },
    )
    yield Figure(
        10,
        f"one of {CHUNKS:,} streamed chunks: CPU",
        f"raw httpx SSE ({median(found['beside']) * 1e6:.1f} µs)",
        ratio(found["ours"], found["beside"]),
        target=4,
        then=2,
        samples={f"{name}_cpu_s": values for name, values in found.items()},
    )
