"""Programs to be measured: a clean environment, time, CPU and memory of each."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUBJECTS = Path(__file__).parent / "subjects"
KEY = "sk-scripted"
MODEL = "gpt-4.1-mini"
"""One that has a price: an unknown one costs LiteLLM more, and us less."""
_PATIENCE = 300.0
"""Seconds after which a program that should have ended counts as hanging."""


class SubjectFailed(Exception):
    """A program that was to be measured did not do its work; the text says which and how it ended."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One run from start to exit."""

    wall: float
    """Seconds."""
    cpu: float
    """Seconds of CPU, the kernel's included."""
    out: bytes
    err: bytes
    code: int


def clean_environment(home: Path) -> dict[str, str]:
    """Nothing of the developer's: no keys, no configuration, no proxy; compiled files are kept and used."""
    for name in ("config", "state", "data", "cache"):
        (home / name).mkdir(parents=True, exist_ok=True)
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.defpath]),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "OPENAI_API_KEY": KEY,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }


def command(name: str) -> str:
    """A program of this environment."""
    return str(Path(sys.executable).parent / name)


def subject(name: str, *arguments: str) -> list[str]:
    """A script of `subjects/`."""
    return [sys.executable, str(SUBJECTS / f"{name}.py"), *arguments]


def run(
    program: Sequence[str],
    environ: Mapping[str, str],
    *,
    cwd: Path,
    stdin: int | None = None,
    code: int | None = 0,
) -> Sample:
    """Runs a program to its end. Raises SubjectFailed where it ends with another code than `code`."""
    started = time.perf_counter()
    process = subprocess.Popen(
        program,
        env=dict(environ),
        cwd=cwd,
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    before = _children_cpu()
    try:
        out, err = process.communicate(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
    wall = time.perf_counter() - started
    sample = Sample(wall, _children_cpu() - before, out, err, process.returncode)
    if code is not None and sample.code != code:
        tail = (err or out).decode("utf-8", "replace")[-800:]
        raise SubjectFailed(f"{' '.join(program[:3])} ended with {sample.code}, not {code}:\n{tail}")
    return sample


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_json(program: Sequence[str], environ: Mapping[str, str], *, cwd: Path) -> dict[str, Any]:
    """What a subject printed as JSON."""
    out = run(program, environ, cwd=cwd).out
    try:
        return json.loads(out)
    except ValueError:
        raise SubjectFailed(f"{' '.join(program[:3])} printed no JSON: {out[:200]!r}") from None


def has_proc() -> bool:
    """Whether memory and CPU of a running process can be read."""
    return Path("/proc/self/smaps_rollup").exists()


def memory(pid: int) -> float:
    """The process's proportional share of memory (PSS), in bytes."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise SubjectFailed(f"/proc/{pid}/smaps_rollup names no Pss")


def cpu_so_far(pid: int) -> float:
    """Seconds of CPU that all threads of a running process have used."""
    tasks = Path(f"/proc/{pid}/task")
    return sum(int((task / "schedstat").read_text("ascii").split()[0]) for task in tasks.iterdir()) / 1e9
