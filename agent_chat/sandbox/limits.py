"""Resource limits, set by a POSIX shell that then becomes the program.

A shell costs about a millisecond; setting limits between fork and exec of a program with threads is not safe.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

GIB = 1024**3


@dataclass(frozen=True, slots=True)
class Limits:
    """What one process may use. None leaves the limit that we run under. Never raises a limit."""

    core_size: int | None = 0
    """Bytes of a core dump: it would hold the program's memory, in the workspace."""
    file_size: int | None = 16 * GIB
    """Bytes of one file that it writes."""
    processes: int | None = 8192
    """Processes and threads of the user: a fork bomb ends before the machine does. Does not bind root."""
    memory: int | None = None
    """Bytes of address space. Runtimes that reserve much and use little (Go, Java, Node) need a lot."""
    cpu: int | None = None
    """Seconds of processor time; the time limit of a command holds in any case."""


def script(limits: Limits) -> str:
    """Shell lines that set the limits, and go on where one cannot be set."""
    return "".join(f"{line} 2>/dev/null || :\n" for line in _lines(limits))


def _lines(limits: Limits) -> Iterator[str]:
    if limits.core_size is not None:
        yield f"ulimit -c {limits.core_size // 512}"
    if limits.file_size is not None:
        yield f"ulimit -f {limits.file_size // 512}"
    if limits.processes is not None:
        # bash and ash say -u, dash says -p.
        yield f"ulimit -u {limits.processes} 2>/dev/null || ulimit -p {limits.processes}"
    if limits.memory is not None:
        yield f"ulimit -v {limits.memory // 1024}"
    if limits.cpu is not None:
        yield f"ulimit -t {limits.cpu}"
