"""A program to run, and how it ended."""

from __future__ import annotations

import shutil
import signal as signals
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SHELLS = ("bash", "sh")
"""In the order of preference: models write for bash."""


@dataclass(frozen=True, slots=True)
class Command:
    """A program to run to its end."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    """The whole environment; nothing is inherited."""
    timeout: float | None = None
    """Seconds until it is ended with all that it started; None for no limit."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended, and what it wrote to stdout and stderr, merged in order."""

    exit_code: int
    """As a shell shows it: 128 + n after signal n."""
    output: str
    """All of it, or head and tail with the middle named with its size. Bytes that are no UTF-8, and NUL, are
    U+FFFD."""
    size: int
    """Bytes written."""
    elided: int
    """Bytes that `output` leaves out."""
    duration: float
    """Seconds."""
    timed_out: bool = False
    background: tuple[str, ...] = ()
    """Names of processes that were left when the command ended, and have been ended."""
    restored: tuple[str, ...] = ()
    """Protected paths, relative to the workspace, that the command changed and that are as before again."""

    @property
    def signal(self) -> str | None:
        """The name of the signal that ended it, as far as the exit code tells."""
        try:
            return signals.Signals(self.exit_code - 128).name if self.exit_code > 128 else None
        except ValueError:
            return None


def shell_line(line: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """The program that runs a shell line: bash where there is one, without any startup file."""
    for name in SHELLS:
        if found := shutil.which(name, path=env.get("PATH")):
            return (found, "-c", line)
    return ("/bin/sh", "-c", line)
