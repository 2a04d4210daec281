"""One life of a connection to a server: handshake, list of tools, calls, end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from importlib import import_module
from typing import TYPE_CHECKING, Any

from agent_chat import __version__
from agent_chat.core.redaction import redact
from agent_chat.tools.mcp.failures import ServerFailed, leaves, reason_of
from agent_chat.tools.mcp.transport import Transport
from agent_chat.tools.threads import in_thread

if TYPE_CHECKING:
    from mcp import ClientSession
    from mcp.client.session import IncomingMessage
    from mcp_types import CallToolResult, Tool

CLOSE_SECONDS = 2.6
"""Longest that an orderly end may take."""
CANCEL_SECONDS = 0.3
REFRESH_SECONDS = 5.0
"""Longest that a changed list of tools may take to be read."""
MOST_PAGES, MOST_TOOLS = 100, 2_000
Progress = Callable[[float, float | None, str | None], None]


def load_sdk() -> None:
    """Imports what speaking to servers needs. Takes a second or two: for a thread."""
    for name in ("mcp", "mcp.shared.message", "mcp.client.streamable_http", "httpx2"):
        import_module(name)
    for name in ("mcp", "mcp_types", "client", "httpx2"):
        # What they log is told by us, where it matters.
        logging.getLogger(name).addHandler(logging.NullHandler())
        logging.getLogger(name).propagate = False


class Link:
    """`on_tools` is called when the tools were listed again, `on_lost` when the server went by itself."""

    def __init__(
        self, transport: Transport, on_tools: Callable[[], None], on_lost: Callable[[], None]
    ) -> None:
        self._transport = transport
        self._on_tools = on_tools
        self._on_lost = on_lost
        self._session: ClientSession | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._refresh: asyncio.Task[None] | None = None
        self._changed = False
        self.tools: Sequence[Tool] = ()
        self.reason = ""
        """Why it ended, when it has."""

    @property
    def is_open(self) -> bool:
        return self._session is not None

    async def open(self, seconds: float) -> None:
        """Until calls can be made. Raises ServerFailed; then all is closed."""
        loading = asyncio.create_task(in_thread(load_sdk))
        self._task = asyncio.create_task(self._live(loading))
        try:
            # What we load is not the server's time.
            await asyncio.wait((self._task, loading), return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait(
                (self._task, self._ready), timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        except asyncio.CancelledError:
            await self.close()
            raise
        if self.is_open:
            return
        is_late = not self._task.done()
        await self.close()
        if is_late:
            said = getattr(self._transport, "last_words", "")
            self.reason = redact(
                f"not ready after {seconds:g} s" + (f"; its last words: {said}" if said else "")
            )
        raise ServerFailed(self.reason)

    async def call(self, name: str, arguments: Mapping[str, Any], show: Progress) -> CallToolResult:
        """Calls a tool. Raises ServerFailed where the server goes or refuses; cancelling tells the server."""
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED, CallToolRequest, CallToolRequestParams, CallToolResult

        session, task = self._session, self._task
        if session is None or task is None:
            raise LinkLost(self.reason)

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            show(progress, total, message)

        # Not `call_tool`: that checks the result by a schema of the server's, which may take forever.
        request = CallToolRequest(params=CallToolRequestParams(name=name, arguments=dict(arguments)))
        try:
            return await session.send_request(request, CallToolResult, progress_callback=on_progress)
        except MCPError as error:
            if error.code == CONNECTION_CLOSED or error.message == "Session terminated":
                self._transport.lost.set()
                await asyncio.wait((task,), timeout=CLOSE_SECONDS)
                raise LinkLost(self.reason or reason_of(error)) from error
            raise ServerFailed(reason_of(error)) from error
        except ServerFailed:
            raise
        except Exception as error:
            raise ServerFailed(f"its answer cannot be used: {reason_of(error)}") from error

    async def settled(self) -> None:
        """Until a list of tools that is being read again has been read; never long."""
        await asyncio.sleep(0)  # A notification that came before has been looked at then.
        while (refresh := self._refresh) is not None and not refresh.done():
            await asyncio.wait((refresh,))

    async def close(self) -> None:
        """Ends everything, within 3 s. May be called twice."""
        self._closing.set()
        task = self._task
        if task is None:
            return
        if not self.is_open:
            task.cancel()
        await asyncio.wait((task,), timeout=CLOSE_SECONDS)
        if not task.done():
            task.cancel()
            await asyncio.wait((task,), timeout=CANCEL_SECONDS)

    async def _live(self, loading: asyncio.Task[None]) -> None:
        error: BaseException | None = None
        was_open = False
        try:
            async with AsyncExitStack() as stack:
                session = await self._shake_hands(stack, loading)
                self.tools = await self._list(session)
                self._session, was_open = session, True
                self._ready.set_result(None)
                await self._until_over()
                self._session = None
        except asyncio.CancelledError as cancelled:
            error = cancelled
        except Exception as failure:
            error = failure
        finally:
            self._session = None
            if self._refresh is not None:
                self._refresh.cancel()
            self.reason = redact(self._why(error))
        if was_open and not self._closing.is_set():
            self._on_lost()

    def _why(self, error: BaseException | None) -> str:
        failed = (
            next((leaf for leaf in leaves(error) if isinstance(leaf, ServerFailed)), None) if error else None
        )
        return str(failed) if failed is not None else self._transport.explain(error)

    async def _shake_hands(self, stack: AsyncExitStack, loading: asyncio.Task[None]) -> ClientSession:
        connection = self._transport.connect(loading)
        read, write = await stack.enter_async_context(connection)
        await asyncio.shield(loading)
        from mcp import ClientSession, MCPError
        from mcp_types import METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION, Implementation

        session = ClientSession(
            read,
            write,
            message_handler=self._hear,
            client_info=Implementation(name="agent-chat", version=__version__),
        )
        await stack.enter_async_context(session)
        try:
            await session.initialize()
        except MCPError as error:
            if error.code not in (METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION):
                raise
            await session.discover()  # A server of the newest protocol only.
        return session

    async def _list(self, session: ClientSession) -> Sequence[Tool]:
        from mcp_types import PaginatedRequestParams

        capabilities = session.server_capabilities
        if capabilities is not None and capabilities.tools is None and session.initialize_result is not None:
            return ()
        found: list[Tool] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            found += page.tools
            cursor = page.next_cursor
            if cursor is None or len(found) >= MOST_TOOLS:
                break
        return found[:MOST_TOOLS]

    async def _hear(self, message: IncomingMessage) -> None:
        from mcp_types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self._changed = True
            if self._refresh is None or self._refresh.done():
                self._refresh = asyncio.create_task(self._read_again())

    async def _read_again(self) -> None:
        """The old list stays where the new one cannot be had."""
        while self._changed and self._session is not None:
            self._changed = False
            try:
                async with asyncio.timeout(REFRESH_SECONDS):
                    self.tools = await self._list(self._session)
            except Exception:
                return
            self._on_tools()

    async def _until_over(self) -> None:
        ends = [asyncio.create_task(event.wait()) for event in (self._closing, self._transport.lost)]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in ends:
                end.cancel()


class LinkLost(ServerFailed):
    """The server has gone."""
