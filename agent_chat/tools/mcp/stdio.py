"""The connection to a server that is a program: JSON messages as lines on its standard input and output."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from agent_chat.sandbox.confinement import Wrapped
from agent_chat.tools.mcp.failures import LONGEST_REASON, ServerFailed, reason_of
from agent_chat.tools.mcp.lines import LONGEST_LINE, Lines, Tail
from agent_chat.tools.mcp.process import ServerProcess, start_process
from agent_chat.tools.mcp.text import one_line
from agent_chat.tools.threads import in_thread

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

MOST_WAITING = 10_000
"""Messages that wait to be read; a server that sends more is not listened to any more."""


class StdioTransport:
    """Satisfies `Transport`. `command` gives what to run; it may block, and raise ServerFailed."""

    def __init__(self, command: Callable[[], Wrapped], cwd: Path) -> None:
        self._command = command
        self._cwd = cwd
        self._tail = Tail()
        self._noise = ""
        """The last line of its output that was no message."""
        self._trouble = ""
        """Why we do not listen to it any more."""
        self._process: ServerProcess | None = None
        self._lost = asyncio.Event()
        self._went_by_itself = False

    @property
    def lost(self) -> asyncio.Event:
        return self._lost

    @asynccontextmanager
    async def connect(self, loading: asyncio.Future[None]) -> AsyncGenerator[TransportStreams]:
        import anyio

        incoming, read = anyio.create_memory_object_stream["SessionMessage | Exception"](MOST_WAITING)
        write, outgoing = anyio.create_memory_object_stream["SessionMessage"](0)
        with incoming, read, write, outgoing:
            process = await self._start(incoming, loading)
            tasks = (
                asyncio.create_task(self._watch(process, incoming)),
                asyncio.create_task(_write(process, outgoing)),
            )
            try:
                yield read, write
            finally:
                self._went_by_itself = self._lost.is_set()
                await process.stop()
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)

    def explain(self, error: BaseException | None) -> str:
        if self._trouble:
            return self._trouble
        said = one_line(self._tail.last_line, LONGEST_REASON) or (
            f"it wrote what is no message: {self._noise}" if self._noise else ""
        )
        code = self._process.exit_code if self._process is not None else None
        if self._went_by_itself and code is not None:
            # One that was killed had no time for last words: what stands there is older.
            return f"{_how_it_ended(code)}{f': {said}' if said and code <= 128 else ''}"
        if error is not None:
            return reason_of(error)
        return said or "the connection ended"

    @property
    def last_words(self) -> str:
        """The last line on its standard error, or of its output where that is no message; empty for none."""
        return one_line(self._tail.last_line, LONGEST_REASON) or self._noise

    async def _start(
        self, incoming: MemoryObjectSendStream[SessionMessage | Exception], loading: asyncio.Future[None]
    ) -> ServerProcess:
        wrapped = await in_thread(self._command)

        def take(line: bytes) -> None:
            # Before anything was asked nothing is said that matters; to read it would wait for the import.
            if loading.done():
                self._take(line, incoming)
            else:
                self._hear_noise(line)

        lines = Lines(take, lambda: self._give_up(incoming, TOO_LONG))
        try:
            process = await start_process(wrapped, self._cwd, lines.feed, self._tail.feed)
        except OSError as error:
            raise ServerFailed(f"it cannot be started: {error.strerror or error}") from error
        self._process = process
        return process

    async def _watch(
        self, process: ServerProcess, incoming: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        await process.ended()
        self._lost.set()
        incoming.close()

    def _take(self, line: bytes, incoming: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        import anyio
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        if not line.strip():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self._hear_noise(line)
            return
        try:
            incoming.send_nowait(SessionMessage(message))
        except anyio.WouldBlock:
            self._give_up(incoming, f"it sent more than {MOST_WAITING:,} messages at once")
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return  # Nobody listens any more.

    def _hear_noise(self, line: bytes) -> None:
        self._noise = one_line(line[:1000].decode("utf-8", "replace"), 200)

    def _give_up(self, incoming: MemoryObjectSendStream[SessionMessage | Exception], why: str) -> None:
        self._trouble = self._trouble or why
        self._lost.set()
        incoming.close()


TOO_LONG = f"it sent a message of more than {LONGEST_LINE // 2**20} MiB"


async def _write(process: ServerProcess, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
    """Until the process takes nothing any more; that it has gone is seen elsewhere."""
    try:
        async for item in outgoing:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            await process.write(f"{text}\n".encode())
    except OSError:
        return


def _how_it_ended(code: int) -> str:
    if code <= 128:
        return f"it ended with exit code {code}"
    try:
        return f"it was ended by {signal.Signals(code - 128).name}"
    except ValueError:
        return f"it ended with exit code {code}"
