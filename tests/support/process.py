"""Real programs as subprocesses: run to the end, or talked to while they run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol, Self

BIN = Path(sys.executable).parent
"""Where this environment's commands are; first in the PATH of `clean_env`."""


class HasBaseUrl(Protocol):
    @property
    def base_url(self) -> str: ...


def clean_env(home: Path, provider: HasBaseUrl | None = None, **extra: str | None) -> dict[str, str]:
    """An environment with nothing of the developer's in it: no keys, no proxy, no configuration.

    With a provider: `OPENAI_BASE_URL`, `OPENAI_API_KEY` and `AGENT_CHAT_MODEL`. A variable of `extra` that is
    None is left out.
    """
    env: dict[str, str | None] = {
        "PATH": os.pathsep.join([str(BIN), os.environ.get("PATH", os.defpath)]),
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "SYSTEMROOT": os.environ.get("SYSTEMROOT"),
    }
    if provider is not None:
        env |= {
            "OPENAI_BASE_URL": provider.base_url,
            "OPENAI_API_KEY": "sk-scripted",
            "AGENT_CHAT_MODEL": "openai/scripted",
        }
    env |= extra
    return {name: value for name, value in env.items() if value is not None}


def found(name: str, env: Mapping[str, str]) -> str:
    """The program of this name on the PATH of `env`."""
    path = shutil.which(name, path=env.get("PATH"))
    if path is None:
        raise FileNotFoundError(f"{name} is not on the PATH of the test's environment")
    return path


@dataclass(frozen=True, slots=True)
class Result:
    """How a program ended. `code` is as a shell shows it: 128 + n after signal n."""

    stdout: bytes
    stderr: bytes
    code: int
    seconds: float

    @property
    def out(self) -> str:
        return self.stdout.decode("utf-8", "replace")

    @property
    def err(self) -> str:
        return self.stderr.decode("utf-8", "replace")


def run(
    args: Sequence[str | Path],
    *,
    env: Mapping[str, str],
    stdin: bytes | None = None,
    cwd: Path | None = None,
    timeout: float = 30.0,
) -> Result:
    """Run a program to its end. Without `stdin` it reads an end of file at once."""
    with Program(args, env=env, cwd=cwd) as program:
        program.send(stdin or b"")
        program.close_stdin()
        return program.wait(timeout)


class Program:
    """A running program with all three streams as pipes, in a process group of its own.

    Leaving the context kills what is left of its process tree.
    """

    def __init__(
        self, args: Sequence[str | Path], *, env: Mapping[str, str], cwd: Path | None = None
    ) -> None:
        words = [str(arg) for arg in args]
        self._began = time.monotonic()
        self._process = subprocess.Popen(
            [found(words[0], env), *words[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )
        self._changed = threading.Condition()
        self._input: list[bytes | None] = []
        self._output = {"stdout": bytearray(), "stderr": bytearray()}
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._threads = [
            threading.Thread(target=self._write, args=[process.stdin], daemon=True),
            threading.Thread(target=self._read, args=[process.stdout, "stdout"], daemon=True),
            threading.Thread(target=self._read, args=[process.stderr, "stderr"], daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stdout(self) -> bytes:
        """All that has come so far."""
        with self._changed:
            return bytes(self._output["stdout"])

    @property
    def stderr(self) -> bytes:
        """All that has come so far."""
        with self._changed:
            return bytes(self._output["stderr"])

    def send(self, data: bytes) -> None:
        """Write to its standard input; does not wait for it to be read."""
        with self._changed:
            self._input.append(data)
            self._changed.notify_all()

    def close_stdin(self) -> None:
        """End its standard input after what was sent."""
        with self._changed:
            self._input.append(None)
            self._changed.notify_all()

    def wait_for_output(self, text: str | bytes, within: float = 10.0, *, stream: str = "stdout") -> None:
        """Block until the stream (`stdout` or `stderr`) has had this text."""
        wanted = text.encode() if isinstance(text, str) else text
        with self._changed:
            if not self._changed.wait_for(lambda: wanted in self._output[stream], within):
                raise AssertionError(f"no {wanted!r} on {stream} within {within:g} s; {self._so_far()}")

    def signal(self, number: signal.Signals, *, group: bool = False) -> None:
        """Send a signal to the program or, as a terminal does, to its process group."""
        if group:
            os.killpg(self.pid, number)
        else:
            self._process.send_signal(number)

    def wait(self, timeout: float = 30.0) -> Result:
        """Block until it has ended and both its outputs are closed."""
        deadline = self._began + timeout
        try:
            code = self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"still running after {timeout:g} s; {self._so_far()}") from None
        seconds = time.monotonic() - self._began
        for thread in self._threads[1:]:
            thread.join(max(0.1, deadline - time.monotonic()))
            if thread.is_alive():
                raise AssertionError(f"it has ended, but a child holds its output; {self._so_far()}")
        return Result(self.stdout, self.stderr, code if code >= 0 else 128 - code, seconds)

    def kill(self) -> None:
        """Kill the program and its descendants."""
        kill_tree(self.pid, alive=self._process.poll() is None)
        self._process.wait(10)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self.close_stdin()
        for thread in self._threads:
            thread.join(10)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def _so_far(self) -> str:
        return f"stdout {bytes(self._output['stdout'])!r}, stderr {bytes(self._output['stderr'])!r}"

    def _read(self, stream: IO[bytes], name: str) -> None:
        while data := os.read(stream.fileno(), 65536):
            with self._changed:
                self._output[name] += data
                self._changed.notify_all()

    def _write(self, stream: IO[bytes]) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._input))
                data = self._input.pop(0)
            if data is None:
                break
            try:
                stream.write(data)
                stream.flush()
            except OSError:
                break
        with suppress(OSError):  # what was buffered has no reader any more
            stream.close()


def children_of() -> dict[int, list[int]]:
    """Every process and its children, by process id."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    return children


def tree(pid: int) -> list[int]:
    """The descendants of a process, parents before children."""
    children = children_of()
    found_so_far: list[int] = []
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(0), [])
        found_so_far += below
        waiting += below
    return found_so_far


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and waits for its parent does not."""
    return any(pid == running for running, _ in _parents())


def wait_until(condition: Callable[[], bool], what: str, within: float = 10.0) -> None:
    """Block until a condition holds that nothing announces."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within:g} s: {what}")
        time.sleep(0.01)


def wait_gone(pids: Iterable[int], within: float = 3.0) -> None:
    """Block until none of these processes runs."""
    left = set(pids)
    wait_until(
        lambda: not (left & {pid for pid, _ in _parents()}),
        f"the processes {sorted(left)} have ended",
        within,
    )


def kill_tree(pid: int, *, alive: bool) -> None:
    """Kill the descendants of a process, its group, and, when it is `alive`, itself."""
    victims = tree(pid)
    for victim in [pid, *victims] if alive else victims:
        _kill(victim, os.kill)
    _kill(pid, os.killpg)


def _kill(pid: int, how: Callable[[int, int], None]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        how(pid, signal.SIGKILL)


def _parents() -> list[tuple[int, int]]:
    """Process id and parent of every process that has not ended."""
    if Path("/proc/self/stat").exists():
        return _parents_from_proc()
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in listing.stdout.splitlines()]
    return [(int(pid), int(parent)) for pid, parent, state in rows if not state.startswith("Z")]


def _parents_from_proc() -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            stat = (folder / "stat").read_text(errors="replace")
        except OSError:  # it ended meanwhile
            continue
        # The name stands in parentheses and may hold any character.
        state, parent = stat.rpartition(")")[2].split()[:2]
        if state not in ("Z", "X"):
            pairs.append((int(folder.name), int(parent)))
    return pairs
