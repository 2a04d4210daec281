"""Row 1: how soon the program says what it is."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from .bench import Bench
from .figures import Figure
from .processes import Sample, command, run
from .rounds import interleave, ratio


def help_and_version(bench: Bench) -> Iterator[Figure]:
    programs = {
        "python": [sys.executable, "-c", "pass"],
        "agent-chat --version": [command("agent-chat"), "--version"],
        "agent-chat --help": [command("agent-chat"), "--help"],
        "agent-single --help": [command("agent-single"), "--help"],
    }

    def starter(program: list[str]) -> Sample:
        return run(program, bench.environ, cwd=bench.folder)

    rounds = bench.rounds if bench.quick else bench.rounds * 3
    samples = interleave(
        rounds, {name: lambda program=program: starter(program) for name, program in programs.items()}
    )
    bare = [sample.wall for sample in samples["python"]]
    bare_cpu = [sample.cpu for sample in samples["python"]]
    for name in list(programs)[1:]:
        wall = [sample.wall for sample in samples[name]]
        cpu = [sample.cpu for sample in samples[name]]
        yield Figure(
            1,
            name,
            f"python -c pass ({sorted(bare)[len(bare) // 2] * 1000:.0f} ms)",
            ratio(wall, bare),
            target=15,
            then=8,
            note=f"{name}: {ratio(cpu, bare_cpu):.1f}× in CPU time",
            samples={"ours_wall_s": wall, "beside_wall_s": bare, "ours_cpu_s": cpu, "beside_cpu_s": bare_cpu},
        )
