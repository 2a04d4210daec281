"""Rows 2, 15 and 16: a session in a terminal, from the first key to idling."""

from __future__ import annotations

import os
import re
import select
import shutil
import termios
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

from .bench import Bench
from .figures import Figure
from .one_shot import MB, one_shot_memory
from .processes import MODEL, SubjectFailed, command, cpu_so_far, has_proc, memory, run, subject
from .rounds import interleave, ratio

KEY = "z"
_LIMIT = 60.0
_QUIET = 1.0
IDLE_SECONDS = 10.0
LLM_TIME = 0.43 / 0.74
"""What `llm chat` took to echo a key, as a share of the openai script's time, where both were measured."""
LLM_MEMORY = 52 / 65
"""The same for memory at the prompt."""
_SCALED = "`llm` is not installed: the openai script of this run stands for it, scaled by what both once took"


class Terminal:
    """A program in a pseudo-terminal."""

    def __init__(self, program: list[str], environ: dict[str, str], folder: Path) -> None:
        spawn: Any = import_module("ptyprocess").PtyProcess.spawn  # it has no types
        self.started = time.perf_counter()
        self._process: Any = spawn(program, cwd=str(folder), env=environ, dimensions=(24, 80))
        self.pid: int = self._process.pid
        self._fd: int = self._process.fd

    def read(self, seconds: float) -> bytes:
        """What was written within so many seconds; returns as soon as there is something."""
        if not select.select([self._fd], [], [], seconds)[0]:
            return b""
        try:
            return os.read(self._fd, 65536)
        except OSError:
            raise SubjectFailed("the program left its terminal") from None

    def first_key(self) -> float:
        """Seconds from the start until a key, pressed as soon as the program listens to keys, is echoed."""
        while self._is_cooked():
            self.read(0.001)
            self._check()
        os.write(self._fd, KEY.encode())
        while KEY.encode() not in _without_escapes(self.read(1.0)):
            self._check()
        return time.perf_counter() - self.started

    def settle(self) -> None:
        """Waits until the program has nothing left to do."""
        before = cpu_so_far(self.pid)
        while True:
            written = self.wait(_QUIET)
            now = cpu_so_far(self.pid)
            if not written and now - before < 0.002:
                return
            before = now
            self._check()

    def wait(self, seconds: float) -> int:
        """Bytes written in so many seconds."""
        end = time.perf_counter() + seconds
        written = 0
        while (left := end - time.perf_counter()) > 0:
            written += len(self.read(left))
        return written

    def _is_cooked(self) -> bool:
        return bool(termios.tcgetattr(self._fd)[3] & termios.ICANON)

    def _check(self) -> None:
        if time.perf_counter() - self.started > _LIMIT:
            raise SubjectFailed("no echo of a key within a minute")

    def end(self) -> None:
        self._process.close(force=True)


@contextmanager
def _running(bench: Bench, program: list[str], environ: dict[str, str]) -> Generator[Terminal]:
    terminal = Terminal(program, environ, bench.folder)
    try:
        yield terminal
    finally:
        terminal.end()


def _without_escapes(data: bytes) -> bytes:
    """Control sequences may hold any letter."""
    return re.sub(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[^\[]", b"", data)


def agent_chat(bench: Bench) -> list[str]:
    return [command("agent-chat"), "-m", f"openai/{MODEL}", "--api-base", bench.base("answer")]


def _llm(bench: Bench) -> tuple[list[str], dict[str, str]] | None:
    """`llm chat` on our provider, where it is installed."""
    program = shutil.which("llm")
    if program is None:
        return None
    folder = bench.folder / "llm"
    folder.mkdir(exist_ok=True)
    models = f"- model_id: {MODEL}\n  model_name: {MODEL}\n  api_base: {bench.base('answer')}\n"
    (folder / "extra-openai-models.yaml").write_text(models, "utf-8")
    return [program, "chat", "-m", MODEL], {**bench.environ, "LLM_USER_PATH": str(folder)}


def first_key(bench: Bench) -> Iterator[Figure]:
    def echo(program: list[str], environ: dict[str, str]) -> float:
        with _running(bench, program, environ) as terminal:
            return terminal.first_key()

    def openai_script() -> float:
        program = subject("one_shot_openai", bench.base("answer"))
        return run(program, bench.environ, cwd=bench.folder).wall * LLM_TIME

    llm = _llm(bench)
    beside = partial(echo, *llm) if llm else openai_script
    rounds = bench.rounds if bench.quick else bench.rounds * 2
    found = interleave(rounds, {"ours": partial(echo, agent_chat(bench), bench.environ), "beside": beside})
    name = "llm chat" if llm else "openai script × 0.58"
    yield Figure(
        2,
        "session: first key echoed",
        f"{name} ({median(found['beside']):.2f} s)",
        ratio(found["ours"], found["beside"]),
        target=0.6,
        then=0.45,
        note="" if llm else f"first key: {_SCALED} (0.43 s / 0.74 s)",
        samples={f"{name}_wall_s": values for name, values in found.items()},
    )


def prompt_memory(bench: Bench) -> Iterator[Figure]:
    if not has_proc():
        yield Figure(15, "memory at the prompt", "llm chat", None, missing="not measured")
        return

    def at_prompt(program: list[str], environ: dict[str, str]) -> float:
        with _running(bench, program, environ) as terminal:
            terminal.first_key()
            terminal.settle()
            return memory(terminal.pid)

    one_shot = one_shot_memory(bench)
    subjects = {"ours": partial(at_prompt, agent_chat(bench), bench.environ)}
    llm = _llm(bench)
    if llm:
        subjects["beside"] = partial(at_prompt, *llm)
    found = interleave(min(bench.rounds, 5), subjects)
    beside = found.get("beside") or [used * LLM_MEMORY for used in one_shot["beside"]]
    name = "llm chat" if llm else "openai script × 0.80"
    yield Figure(
        15,
        "memory at the prompt, LiteLLM not needed",
        f"{name} ({median(beside) / MB:.0f} MB)",
        ratio(found["ours"], beside),
        target=1.2,
        then=1.0,
        note=f"ours is {median(found['ours']) / MB:.0f} MB" + ("" if llm else f"; {_SCALED} (52 MB / 65 MB)"),
        samples={"ours_bytes": found["ours"], "beside_bytes": beside},
    )
    yield Figure(
        15,
        "memory of one answer, direct",
        "–",
        median(one_shot["ours"]) / MB,
        unit="MB",
        target=60,
        then=45,
        samples={"ours_bytes": one_shot["ours"]},
    )


def idle(bench: Bench) -> Iterator[Figure]:
    if not has_proc():
        yield Figure(16, "idle at the prompt", "–", None, missing="not measured")
        return
    with _running(bench, agent_chat(bench), bench.environ) as terminal:
        terminal.first_key()
        terminal.settle()
        seconds = 2.0 if bench.quick else IDLE_SECONDS
        before = cpu_so_far(terminal.pid)
        written = terminal.wait(seconds)
        share = (cpu_so_far(terminal.pid) - before) / seconds * 100
    yield Figure(16, "idle at the prompt: CPU", "–", share, unit="%", target=0.3, then=0.0049)
    yield Figure(16, "idle at the prompt: bytes written", "–", written, unit="", target=0, then=0)
