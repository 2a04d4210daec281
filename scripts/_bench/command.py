"""The command: which rows, how often, and where the result goes."""

from __future__ import annotations

import argparse
import compileall
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _environment import ROOT
from _progress import say

from . import loop, network, one_shot, session_log, start, terminal
from .bench import Bench, prepared
from .figures import Figure, as_json, notes, table
from .processes import SubjectFailed

FIRST, LAST = 1, 20


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that are measured together."""

    rows: tuple[int, ...]
    what: str
    measure: Callable[[Bench], Iterator[Figure]]


def _not_yet(*figures: Figure) -> Callable[[Bench], Iterator[Figure]]:
    return lambda _: iter(figures)


GROUPS = (
    Group((1,), "--version and --help", start.help_and_version),
    Group((2,), "session: first key echoed", terminal.first_key),
    Group((3,), "one answer, direct: time and memory", one_shot.direct),
    Group((4,), "one answer through LiteLLM", one_shot.through_litellm),
    Group((5, 7), "iterations, direct: CPU and growth", loop.iterations),
    Group((6,), "iterations through LiteLLM: CPU", loop.litellm_iterations),
    Group((8,), "turn 1,000 over turn 10", loop.turns),
    Group((9,), "eight tools at once", loop.eight),
    Group((10,), "20,000 streamed chunks", loop.chunks),
    Group(
        (11, 12),
        "Markdown in a terminal",
        _not_yet(
            Figure(11, "20,000 chunks of Markdown rendered", "–", None, unit="s"),
            Figure(12, "20,000 chunks of one code fence rendered", "row 11", None),
        ),
    ),
    Group(
        (13, 14),
        "lag of keys and of the event loop",
        _not_yet(
            Figure(13, "key echo: idle, streaming, loading", "–", None, unit="ms", target=8),
            Figure(14, "longest pause of the event loop", "–", None, unit="ms", target=30),
        ),
    ),
    Group((15,), "memory at the prompt and of one answer", terminal.prompt_memory),
    Group((16,), "idle at the prompt", terminal.idle),
    Group((17,), "events kept", session_log.keeping),
    Group((18,), "list and search many events", session_log.finding),
    Group((19,), "requests when a provider fails", network.retries),
    Group((20,), "connections elsewhere", network.connections),
)


@dataclass(frozen=True, slots=True)
class Options:
    rows: frozenset[int]
    rounds: int
    json: Path | None
    list: bool


def run(options: Options) -> int:
    """The exit code: 0 where everything was measured, whatever it came to; 1 where a program failed."""
    if options.list:
        for group in GROUPS:
            rows = ", ".join(map(str, group.rows))
            sys.stdout.write(f"{rows:>6}  {group.what}\n")
        return 0
    _compile()
    figures: list[Figure] = []
    failed = False
    with prepared(options.rounds) as bench:
        for group in GROUPS:
            if options.rows.isdisjoint(group.rows):
                continue
            try:
                figures += [figure for figure in _measured(group, bench) if figure.row in options.rows]
            except SubjectFailed as error:
                failed = True
                say(f"rows {group.rows}: {error}")
    figures.sort(key=lambda figure: figure.row)
    _tell(figures, options.rounds, options.json)
    return 1 if failed else 0


def _measured(group: Group, bench: Bench) -> list[Figure]:
    started = time.monotonic()
    figures = list(group.measure(bench))
    say(f"{group.what}: {time.monotonic() - started:.0f} s")
    return figures


def _tell(figures: list[Figure], rounds: int, path: Path | None) -> None:
    sys.stdout.write(table(figures))
    sys.stdout.write(f"\nMedians of at least {rounds} interleaved rounds; load {_load()}.\n")
    sys.stdout.write(notes(figures))
    if path is not None:
        path.write_text(as_json(figures, rounds, _machine()), "utf-8")


def _compile() -> None:
    """Start-up is measured with compiled files, as an installed program has them."""
    compileall.compile_dir(ROOT / "agent_chat", quiet=1)
    compileall.compile_dir(Path(__file__).parent, quiet=1)


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def _machine() -> dict[str, Any]:
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": _load(),
    }


def parse(arguments: Sequence[str]) -> Options:
    """Ends the program with code 2 where they are wrong."""
    parser = argparse.ArgumentParser(prog="scripts/bench", add_help=False)
    parser.add_argument("--rows", type=_rows, default=frozenset(range(FIRST, LAST + 1)))
    parser.add_argument("--rounds", type=_count, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args(arguments)
    return Options(given.rows, 1 if given.quick else given.rounds, given.json, given.list)


def _rows(text: str) -> frozenset[int]:
    """`1,5-7` → 1, 5, 6, 7."""
    rows: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        rows |= set(range(int(first), int(last if dash else first) + 1))
    if not rows or not rows <= set(range(FIRST, LAST + 1)):
        raise argparse.ArgumentTypeError(f"rows are numbers from {FIRST} to {LAST}, as in 1,5-7")
    return frozenset(rows)


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError("at least one round is needed")
    return count
