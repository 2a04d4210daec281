"""Runs a command to its end: bounded in memory and time, and with nothing left behind.

The command has a session of its own without a terminal, so that nothing can ask for a password; its standard
input is empty. It ends when the program itself ends, whoever else still holds its output.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TypeVar

from agent_chat.sandbox.capture import Capture
from agent_chat.sandbox.command import Command, Finished
from agent_chat.sandbox.confinement import Sandbox, Wrapped
from agent_chat.sandbox.guard import Guard
from agent_chat.sandbox.live import Live
from agent_chat.sandbox.pump import Pump

T = TypeVar("T")

DRAIN_SECONDS = 0.5
"""How long output may still come when nothing that could write it is left, as far as we know."""
KILL_SECONDS = 2.0
"""How long a supervisor has to kill what it watches over."""
REPORT_SECONDS = 1.0
"""How long the last of a process namespace may take to go when its supervisor has gone."""


class CannotStart(Exception):
    """The command could not be started; the text says why."""


async def run(command: Command, sandbox: Sandbox, on_output: Callable[[str], None] | None = None) -> Finished:
    """Runs a command in the sandbox; `on_output` is shown its output while it comes.

    When cancelled, all that the command started is dead before the cancellation goes on. Must be called in
    the thread that lives as long as the program: the command ends with it. Raises `CannotStart`.
    """
    guard = Guard(sandbox.profile.workspace, sandbox.unheld)
    wrapped = sandbox.supervised(command.argv, env=command.env, cwd=command.cwd)
    capture = Capture()
    live = Live(on_output) if on_output is not None else None

    def take(data: bytes) -> None:
        capture.feed(data)
        if live is not None:
            live.feed(data)

    began = time.monotonic()
    left = bytearray()
    process, output, report = await _start(wrapped, command, take, left.extend)
    timed_out = False
    try:
        async with asyncio.timeout(command.timeout):
            code = await process.wait()
        if code < 0:
            _kill_group(process.pid)  # Whoever watched over the others was killed itself.
    except TimeoutError:
        timed_out = True
        code = await _uninterrupted(_kill(process, supervisor=sandbox.has_supervisor))
    except asyncio.CancelledError:
        await _uninterrupted(_kill(process, supervisor=sandbox.has_supervisor))
        raise
    finally:
        await _uninterrupted(_drain(output, report))
        if live is not None:
            live.close()
        restored = guard.restore()
    captured = capture.captured()
    return Finished(
        exit_code=code if code >= 0 else 128 - code,
        output=captured.text,
        size=captured.size,
        elided=captured.elided,
        duration=time.monotonic() - began,
        timed_out=timed_out,
        background=tuple(left.decode("utf-8", "replace").splitlines()),
        restored=restored,
    )


async def _start(
    wrapped: Wrapped, command: Command, take: Callable[[bytes], None], told: Callable[[bytes], None]
) -> tuple[asyncio.subprocess.Process, Pump, Pump]:
    """The process, what it writes, and the report of its supervisor."""
    output, output_end = os.pipe()
    report, report_end = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *wrapped.argv,
            stdin=subprocess.DEVNULL if sys.platform == "win32" else report_end,
            stdout=output_end,
            stderr=output_end,
            cwd=command.cwd,
            env=wrapped.env,
            start_new_session=sys.platform != "win32",
            creationflags=subprocess.CREATE_NEW_PROCESS_GROUP if sys.platform == "win32" else 0,
        )
    except BaseException as error:
        os.close(output)
        os.close(report)
        if isinstance(error, OSError | ValueError):
            raise CannotStart(f"the command could not be started: {_reason(error)}") from error
        raise
    finally:
        os.close(output_end)
        os.close(report_end)
    return process, Pump(output, take), Pump(report, told)


async def _drain(output: Pump, report: Pump) -> None:
    """What is still in the pipes, and until the last that held the report is gone."""
    await report.finish(REPORT_SECONDS)
    await output.finish(DRAIN_SECONDS)


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


async def _kill(process: asyncio.subprocess.Process, *, supervisor: bool) -> int:
    """Kills the command with all that it started, at once."""
    if sys.platform == "win32":
        killer = await asyncio.create_subprocess_exec(
            "taskkill",
            "/T",
            "/F",
            "/PID",
            str(process.pid),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        await killer.wait()
        return await process.wait()
    if supervisor:
        with suppress(ProcessLookupError):
            process.terminate()
        with suppress(TimeoutError):
            async with asyncio.timeout(KILL_SECONDS):
                return await process.wait()
    _kill_group(process.pid)
    return await process.wait()


def _kill_group(group: int) -> None:
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


async def _uninterrupted(work: Coroutine[None, None, T]) -> T:
    """Finishes the work, however often we are cancelled meanwhile; raises the cancellation after it."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return task.result()
