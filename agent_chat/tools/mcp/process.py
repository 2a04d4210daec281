"""A server as a process of ours: talked to by lines, and gone when we want it gone."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from agent_chat.sandbox.confinement import Wrapped
from agent_chat.sandbox.pump import Pump

GRACE = 1.0
"""Seconds to end by itself when its standard input is closed."""
TERM_SECONDS = 0.7
"""Seconds to end when it is told to."""
KILL_SECONDS = 0.7
"""Seconds until what was killed has gone. All three together are less than the 3 s that leaving may take."""
DRAIN_SECONDS = 0.3
FOREVER = 10.0 * 365 * 86_400


class ServerProcess:
    """In a process group of its own. Its output is handed on as it comes."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        stdin: asyncio.StreamWriter | None,
        output: Pump,
        errors: Pump,
    ) -> None:
        self._process = process
        self._stdin = stdin if stdin is not None else process.stdin
        self._output = output
        self._errors = errors
        self._exit = asyncio.create_task(process.wait())
        self._stopping: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """As a shell shows it: 128 + n after signal n; None while it runs."""
        code = self._process.returncode
        return code if code is None or code >= 0 else 128 - code

    async def write(self, data: bytes) -> None:
        """Returns when the process has taken enough of it. Raises OSError where it takes nothing any more."""
        if self._stdin is None or self._stdin.is_closing():
            raise BrokenPipeError
        self._stdin.write(data)
        await self._stdin.drain()

    async def ended(self) -> None:
        """Until it has ended, or has closed its output; what it wrote before has been handed on."""
        closed = asyncio.create_task(self._output.finish(FOREVER))
        try:
            await asyncio.wait((self._exit, closed), return_when=asyncio.FIRST_COMPLETED)
            if not closed.done():
                await asyncio.wait((closed,), timeout=DRAIN_SECONDS)
        finally:
            closed.cancel()
            await asyncio.wait((closed,))

    async def stop(self) -> None:
        """Ends it with all that it started, within 3 s, also when we are cancelled. May be called twice."""
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop())
        await asyncio.shield(self._stopping)

    async def _stop(self) -> None:
        if self._stdin is not None:
            self._stdin.close()
        if not await self._is_gone(GRACE):
            self._signal(signal.SIGTERM)
            if not await self._is_gone(TERM_SECONDS):
                await self._kill()
        elif (self._process.returncode or 0) < 0:
            self._signal(KILL)  # Whoever watched over the others was killed itself.
        await self._errors.finish(0.1)
        await self._output.finish(0)
        if self._stdin is not None:
            self._stdin.transport.abort()

    async def _kill(self) -> None:
        if sys.platform == "win32":
            killer = await asyncio.create_subprocess_exec(
                *("taskkill", "/T", "/F", "/PID", str(self.pid)),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            await killer.wait()
        self._signal(KILL)
        await self._is_gone(KILL_SECONDS)

    async def _is_gone(self, seconds: float) -> bool:
        await asyncio.wait((self._exit,), timeout=seconds)
        return self._exit.done()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._process.send_signal(number)
            else:
                os.killpg(self.pid, number)


KILL = signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL


async def start_process(
    wrapped: Wrapped, cwd: Path, take: Callable[[bytes], None], complain: Callable[[bytes], None]
) -> ServerProcess:
    """Starts a server; `take` gets its standard output, `complain` its standard error.

    Its standard input is a socket, as other clients have it: a pipe's end that a child of the server's holds
    would keep us from seeing that the server has gone. Raises OSError.
    """
    output, output_end = os.pipe()
    errors, errors_end = os.pipe()
    pair = _socket_pair()
    try:
        process = await asyncio.create_subprocess_exec(
            *wrapped.argv,
            stdin=subprocess.PIPE if pair is None else pair[1].fileno(),
            stdout=output_end,
            stderr=errors_end,
            cwd=cwd,
            env=wrapped.env,
            start_new_session=sys.platform != "win32",
            creationflags=subprocess.CREATE_NEW_PROCESS_GROUP if sys.platform == "win32" else 0,
        )
    except BaseException:
        os.close(output)
        os.close(errors)
        if pair is not None:
            pair[0].close()
        raise
    finally:
        os.close(output_end)
        os.close(errors_end)
        if pair is not None:
            pair[1].close()
    writer = None
    if pair is not None:
        _, writer = await asyncio.open_connection(sock=pair[0])
    return ServerProcess(process, writer, Pump(output, take), Pump(errors, complain))


def _socket_pair() -> tuple[socket.socket, socket.socket] | None:
    """Our end and the server's; None where a process cannot be given a socket."""
    return None if sys.platform == "win32" else socket.socketpair()
