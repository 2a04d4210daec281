"""Rows 3, 4 and the second half of 15: one answer, from the start of the process to its end."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from functools import partial
from statistics import median

from .bench import Bench
from .figures import Figure
from .processes import MODEL, Sample, command, has_proc, memory, run, subject
from .rounds import interleave, ratio

MB = 1_000_000


def agent_single(base: str, *options: str) -> list[str]:
    return [command("agent-single"), "-m", f"openai/{MODEL}", "--api-base", base, *options, "Say ok."]


def litellm_single(base: str) -> list[str]:
    return agent_single(base, "-C", "agent.transport=litellm")


def direct(bench: Bench) -> Iterator[Figure]:
    base = bench.base("answer")
    programs = {"ours": agent_single(base), "beside": subject("one_shot_openai", base)}
    rounds = bench.rounds if bench.quick else bench.rounds * 2
    samples = interleave(rounds, {name: partial(_run, bench, program) for name, program in programs.items()})
    yield _time(3, "one answer, direct", "minimal openai script", samples, 0.6, 0.35)
    if has_proc():
        used = one_shot_memory(bench)
        beside = f"minimal openai script ({median(used['beside']) / MB:.0f} MB)"
        value = ratio(used["ours"], used["beside"])
        yield Figure(
            3, "one answer, direct: memory", beside, value, target=0.9, samples=_in_bytes(used), note=_MEMORY
        )


def through_litellm(bench: Bench) -> Iterator[Figure]:
    base = bench.base("answer")
    programs = {"ours": litellm_single(base), "beside": subject("one_shot_litellm", base)}
    samples = interleave(
        bench.rounds, {name: partial(_run, bench, program) for name, program in programs.items()}
    )
    yield _time(4, "one answer through LiteLLM", "minimal litellm script", samples, 0.6, 0.52)


_MEMORY = "memory is PSS, read while the answer streams"


def one_shot_memory(bench: Bench) -> dict[str, list[float]]:
    """Bytes that our one-shot and the openai script hold in the middle of an answer."""
    base = bench.base("held")
    programs = {"ours": agent_single(base), "beside": subject("one_shot_openai", base)}
    return interleave(
        bench.rounds, {name: partial(_held, bench, program) for name, program in programs.items()}
    )


def _held(bench: Bench, program: list[str]) -> float:
    with subprocess.Popen(
        program, env=bench.environ, cwd=bench.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    ) as process:
        bench.control("held")
        try:
            return memory(process.pid)
        finally:
            bench.control("release")


def _run(bench: Bench, program: list[str]) -> Sample:
    return run(program, bench.environ, cwd=bench.folder)


def _in_bytes(used: dict[str, list[float]]) -> dict[str, list[float]]:
    return {f"{name}_bytes": values for name, values in used.items()}


def _time(
    row: int, what: str, beside: str, samples: dict[str, list[Sample]], target: float, then: float
) -> Figure:
    wall = {name: [sample.wall for sample in found] for name, found in samples.items()}
    cpu = {name: [sample.cpu for sample in found] for name, found in samples.items()}
    return Figure(
        row,
        what,
        f"{beside} ({median(wall['beside']):.2f} s)",
        ratio(wall["ours"], wall["beside"]),
        target=target,
        then=then,
        note=f"{what}: {ratio(cpu['ours'], cpu['beside']):.2f}× in CPU time",
        samples={
            **{f"{name}_wall_s": values for name, values in wall.items()},
            **{f"{name}_cpu_s": values for name, values in cpu.items()},
        },
    )
