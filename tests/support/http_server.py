"""A small HTTP/1.1 server on loopback whose replies are scripted down to the socket.

It runs in a thread with an event loop of its own, so it serves asynchronous tests in this process and
programs that a synchronous test has started. It can fall silent, cut the connection, wait at a gate, and it
notices when the client goes away.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, cast

JsonObject = dict[str, Any]


class Gate:
    """A place in a reply where the server stops until the test opens the gate."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = False
        self._listeners: list[Callable[[], None]] = []
        self._reached = threading.Event()

    def open(self) -> None:
        """Let the server go on, now and at every later arrival."""
        with self._lock:
            self._open = True
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()

    def wait_reached(self, within: float = 10.0) -> None:
        """Block until the server has sent all that stands before the gate."""
        if not self._reached.wait(within):
            raise AssertionError(f"the server did not reach the gate within {within:g} s")

    async def reached(self, within: float = 10.0) -> None:
        """As `wait_reached`, for a test that runs in an event loop."""
        await asyncio.to_thread(self.wait_reached, within)

    def arrive(self, on_open: Callable[[], None]) -> None:
        """For the server: say that it is here; `on_open` is called once, from any thread."""
        with self._lock:
            is_open = self._open
            if not is_open:
                self._listeners.append(on_open)
        self._reached.set()
        if is_open:
            on_open()


@dataclass(frozen=True, slots=True)
class Send:
    """Bytes of the body, written at once. Status line and headers go out before the first of them."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Cut:
    """Close the connection in the middle of the body; with `reset` as a TCP reset."""

    reset: bool = False


@dataclass(frozen=True, slots=True)
class Hang:
    """Keep the connection open and say nothing until the client goes away."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """A slow server: wait this many seconds before the next step."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Http:
    """A plain, complete answer. With `close` the connection is closed after it."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    close: bool = False


Step = Send | Cut | Hang | Sleep | Http | Gate


@dataclass(frozen=True, slots=True)
class Response:
    """Steps in order; a streamed body of this content type unless a step is `Http`."""

    steps: Sequence[Step]
    content_type: str = "text/event-stream"


@dataclass(eq=False)
class Request:
    """One request as it arrived. Times are `time.monotonic()` seconds."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    """Names in lower case."""
    raw: bytes
    body: JsonObject
    """The JSON body; empty when there is none or when it is not an object."""
    body_error: str | None
    connection: int
    """Which connection it came on, counted from 1."""
    arrived_at: float
    status: int | None = None
    """The status answered, once it was sent."""
    finished_at: float | None = None
    """When the last byte of the reply was handed over; None while it is not, or after a cut."""
    closed_early_at: float | None = None
    """When the client closed the connection before the reply was complete."""
    _closed_early: threading.Event = field(default_factory=threading.Event, repr=False)

    def mark_closed_early(self, at: float) -> None:
        """For the server: the client has gone."""
        self.closed_early_at = at
        self._closed_early.set()

    def wait_closed_early(self, within: float = 10.0) -> float:
        """Block until the client has given this request up; when it did."""
        if not self._closed_early.wait(within) or self.closed_early_at is None:
            raise AssertionError(f"the client did not close the connection within {within:g} s")
        return self.closed_early_at

    async def closed_early(self, within: float = 10.0) -> float:
        """As `wait_closed_early`, for a test that runs in an event loop."""
        return await asyncio.to_thread(self.wait_closed_early, within)


Handler = Callable[[Request], Response]


class _ClientGoneError(Exception):
    pass


class _Reader(asyncio.StreamReader):
    """A reader that also tells when the other side has closed."""

    def __init__(self) -> None:
        super().__init__()
        self.gone = asyncio.Event()
        self.gone_at = 0.0

    def feed_eof(self) -> None:
        super().feed_eof()
        self._note()

    def set_exception(self, exc: BaseException) -> None:  # type: ignore[override]
        super().set_exception(cast("Exception", exc))
        self._note()

    def _note(self) -> None:
        if not self.gone.is_set():
            self.gone_at = time.monotonic()
            self.gone.set()


class HttpServer:
    """Serves on 127.0.0.1, on a port that the system chose. `handler` is called in the server's thread."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="scripted-http", daemon=True)
        self._started = threading.Event()
        self._stopping: asyncio.Event | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self.connections = 0
        """How many connections have been opened so far."""

    def start(self) -> None:
        self._thread.start()
        if not self._started.wait(10):
            raise RuntimeError("the scripted server did not start")

    def stop(self) -> None:
        """Close every connection and end the thread. Calling it again does nothing."""
        if self._thread.is_alive() and self._stopping is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(10)
            if self._thread.is_alive():
                raise RuntimeError("the scripted server did not stop")

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._main())
        finally:
            self._loop.close()

    async def _main(self) -> None:
        self._stopping = asyncio.Event()

        def protocol() -> asyncio.StreamReaderProtocol:
            reader = _Reader()

            def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                task = self._loop.create_task(self._serve(reader, writer))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

            return asyncio.StreamReaderProtocol(reader, connected)

        server = await self._loop.create_server(protocol, "127.0.0.1", 0, backlog=256)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stopping.wait()
        server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # An aborted transport closes its socket one round of the loop later.
        await asyncio.sleep(0)
        await server.wait_closed()

    async def _serve(self, reader: _Reader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        connection = self.connections
        # With no room in the buffer, `drain` waits until the kernel has everything.
        writer.transport.set_write_buffer_limits(high=0)
        try:
            while (request := await _read_request(reader, connection)) is not None:
                exchange = _Exchange(reader, writer, request)
                if not await exchange.answer(self._handler(request)):
                    break
        except (_ClientGoneError, ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.drain()
            writer.transport.abort()


class _Exchange:
    """One reply on its way."""

    def __init__(self, reader: _Reader, writer: asyncio.StreamWriter, request: Request) -> None:
        self._reader = reader
        self._writer = writer
        self._request = request
        self._in_body = False

    async def answer(self, response: Response) -> bool:
        """Carry out the steps; True when the connection can be used again."""
        try:
            for position, step in enumerate(response.steps):
                is_last = position == len(response.steps) - 1
                match step:
                    case Send(data):
                        await self._send(data, response.content_type, is_last=is_last)
                    case Cut(reset):
                        await self._cut(reset=reset)
                        return False
                    case Hang():
                        await self._reader.gone.wait()
                        raise _ClientGoneError
                    case Sleep(seconds):
                        with suppress(TimeoutError):
                            await asyncio.wait_for(self._reader.gone.wait(), seconds)
                    case Gate():
                        await self._wait_at(step)
                    case Http():
                        if self._in_body:
                            raise AssertionError("the script has HTTP after the body has begun")
                        await self._plain(step)
                        return not step.close
                if self._reader.gone.is_set() and self._request.finished_at is None:
                    raise _ClientGoneError
            if self._request.finished_at is None:
                await self._send(b"", response.content_type, is_last=True)
        except (_ClientGoneError, ConnectionError):
            self._request.mark_closed_early(self._reader.gone_at or time.monotonic())
            raise _ClientGoneError from None
        return True

    async def _send(self, data: bytes, content_type: str, *, is_last: bool) -> None:
        head = b""
        if not self._in_body:
            self._in_body = True
            head = _head(
                200,
                {"Content-Type": content_type, "Cache-Control": "no-cache", "Transfer-Encoding": "chunked"},
            )
            self._request.status = 200
        chunk = f"{len(data):x}\r\n".encode() + data + b"\r\n" if data else b""
        end = b"0\r\n\r\n" if is_last else b""
        await self._write(head + chunk + end, finished=is_last)

    async def _plain(self, step: Http) -> None:
        headers = {"Content-Length": str(len(step.body)), **step.headers}
        if step.close:
            headers["Connection"] = "close"
        self._request.status = step.status
        await self._write(_head(step.status, headers) + step.body, finished=True)

    async def _write(self, data: bytes, *, finished: bool) -> None:
        self._writer.write(data)
        if finished:
            self._request.finished_at = time.monotonic()
        await self._writer.drain()
        # Lets the loop see that the client has gone.
        await asyncio.sleep(0)

    async def _cut(self, *, reset: bool) -> None:
        await self._writer.drain()
        if reset:
            raw = cast("socket.socket", self._writer.get_extra_info("socket"))
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def _wait_at(self, gate: Gate) -> None:
        loop = asyncio.get_running_loop()
        opened = asyncio.Event()

        def on_open() -> None:
            with suppress(RuntimeError):  # the server has stopped meanwhile
                loop.call_soon_threadsafe(opened.set)

        gate.arrive(on_open)
        waits = [asyncio.create_task(opened.wait()), asyncio.create_task(self._reader.gone.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    known = {entry.value: entry.phrase for entry in HTTPStatus}
    lines = [f"HTTP/1.1 {status} {known.get(status, 'Scripted')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def _read_request(reader: asyncio.StreamReader, connection: int) -> Request | None:
    """The next request of the connection; None when the client has closed it in between."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    request_line, *lines = head.rstrip().split("\r\n")
    method, target, _ = request_line.split(" ", 2)
    pairs = (line.split(":", 1) for line in lines)
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    if headers.get("transfer-encoding", "").lower() == "chunked":
        raw = await _read_chunked(reader)
    else:
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
    path, _, query = target.partition("?")
    body, error = _parse(raw)
    return Request(method, path, query, headers, raw, body, error, connection, time.monotonic())


async def _read_chunked(reader: asyncio.StreamReader) -> bytes:
    parts: list[bytes] = []
    while size := int(await reader.readline(), 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readline()
    return b"".join(parts)


def _parse(raw: bytes) -> tuple[JsonObject, str | None]:
    """The body as a JSON object, or an empty one and why it is none."""
    if not raw:
        return {}, None
    try:
        value: Any = json.loads(raw.decode("utf-8"))
        # A lone surrogate passes as an escape, and no provider takes it.
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except ValueError as error:
        return {}, f"the body is not JSON in UTF-8: {error}"
    if not isinstance(value, dict):
        return {}, "the body is not a JSON object"
    return cast("JsonObject", value), None
