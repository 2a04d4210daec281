"""The first lines that a helper program prints; it is ended when there are enough."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_LINE = 64 * 1024
"""Bytes; a program that prints a longer line is ended there."""
MAX_ERRORS = 4 * 1024


@dataclass(frozen=True, slots=True)
class OutputLines:
    lines: tuple[bytes, ...]
    more: bool
    """Whether the program was ended because it had more to say."""
    code: int | None
    """Its exit code; None when it was ended."""
    errors: str
    """The beginning of what it printed to standard error."""


async def output_lines(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str], limit: int
) -> OutputLines:
    """Up to `limit` lines of a program's output.

    It gets no input and its own process group, and is gone, with all its children, when this returns, raises
    or is cancelled. Raises OSError where the program cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env=environment,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        limit=MAX_LINE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.ensure_future(_beginning(process.stderr))
    try:
        lines, more = await _lines(process.stdout, limit)
        if more:
            return OutputLines(lines, more, None, "")
        return OutputLines(lines, more, await process.wait(), (await errors).decode("utf-8", "replace"))
    finally:
        _kill(process)
        await asyncio.wait((errors,))
        # Reading to the end is what closes the pipes.
        await process.communicate()


async def _lines(stream: asyncio.StreamReader, limit: int) -> tuple[tuple[bytes, ...], bool]:
    lines: list[bytes] = []
    while True:
        try:
            line = await stream.readline()
        except ValueError:
            return tuple(lines), True
        if not line:
            return tuple(lines), False
        if len(lines) == limit:
            return tuple(lines), True
        lines.append(line.removesuffix(b"\n"))


async def _beginning(stream: asyncio.StreamReader) -> bytes:
    kept = b""
    while chunk := await stream.read(MAX_ERRORS):
        kept = (kept + chunk)[:MAX_ERRORS]
    return kept


def _kill(process: Process) -> None:
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
