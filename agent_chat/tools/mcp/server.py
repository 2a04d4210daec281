"""A server: connected in the background, started again once when it died."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from agent_chat.tools.mcp.config import ServerConfig
from agent_chat.tools.mcp.failures import ServerFailed
from agent_chat.tools.mcp.launch import Launch
from agent_chat.tools.mcp.link import Link, LinkLost, Progress

if TYPE_CHECKING:
    from mcp_types import CallToolResult, Tool

State = Literal["starting", "ready", "failed", "closed"]
MOST_RESTARTS = 1


class Server:
    """One configured server.

    `on_tools` is called when its tools have changed, `on_problem` is told in one line what became of it.
    """

    def __init__(
        self,
        config: ServerConfig,
        launch: Launch,
        start_timeout: float,
        on_tools: Callable[[], None],
        on_problem: Callable[[str], None],
    ) -> None:
        self.config = config
        self.launch = launch
        self._start_timeout = config.start_timeout or start_timeout
        self._on_tools = on_tools
        self._on_problem = on_problem
        self._link: Link | None = None
        self._starting: asyncio.Task[None] | None = None
        self._restarts = 0
        self._is_closed = False
        self.state: State = "starting"
        self.reason = ""
        """Why it cannot be used, where it cannot."""
        self.tools: Sequence[Tool] = ()
        """As the server told them last; they stay when it has gone."""

    @property
    def name(self) -> str:
        return self.config.name

    def start(self) -> None:
        """Begins to connect; returns at once."""
        self._starting = asyncio.create_task(self._open())

    async def started(self) -> None:
        """Until it is ready or has failed."""
        if self._starting is not None:
            await asyncio.wait((self._starting,))

    async def call(self, tool: str, arguments: Mapping[str, Any], progress: Progress) -> CallToolResult:
        """Calls a tool by the server's own name for it. Raises ServerFailed, whose text names the server."""
        link = await self._usable()
        try:
            result = await link.call(tool, arguments, progress)
        except LinkLost as lost:
            raise ServerFailed(f"the MCP server {self.name!r} closed during the call: {lost}") from lost
        except ServerFailed as failed:
            raise ServerFailed(f"the MCP server {self.name!r} refused: {failed}") from failed
        await link.settled()
        return result

    async def close(self) -> None:
        """Within 3 s it is gone, with all that it started."""
        self._is_closed = True
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            await asyncio.wait((self._starting,))
        if self._link is not None:
            await self._link.close()
        self.launch.close()
        if self.state in ("ready", "starting"):
            self.state, self.reason = "closed", "it was closed"

    async def _open(self) -> None:
        link = Link(self.launch.transport(), lambda: self._take_tools(link), lambda: self._lost(link))
        self._link = link
        self.state = "starting"
        try:
            await link.open(self._start_timeout)
        except ServerFailed as failed:
            self.state, self.reason = "failed", str(failed)
            self._on_problem(f"MCP server {self.name}: {failed}")
            return
        self.state, self.reason = "ready", ""
        self._take_tools(link)

    def _take_tools(self, link: Link) -> None:
        if link is self._link:
            self.tools = link.tools
            self._on_tools()

    def _lost(self, link: Link) -> None:
        if link is not self._link or self._is_closed:
            return
        self.state, self.reason = "closed", link.reason
        again = "; it is started again when it is needed" if self._restarts < MOST_RESTARTS else ""
        self._on_problem(f"MCP server {self.name} closed: {link.reason}{again}")

    async def _usable(self) -> Link:
        await self.started()
        link = self._link
        if link is not None and link.is_open:
            return link
        if self._is_closed or self.state == "failed" or self._restarts >= MOST_RESTARTS:
            raise ServerFailed(f"the MCP server {self.name!r} is down: {self.reason or 'it was closed'}")
        self._restarts += 1
        if link is not None:
            await link.close()
        self.start()
        await self.started()
        link = self._link
        if link is None or not link.is_open:
            raise ServerFailed(f"the MCP server {self.name!r} could not be started again: {self.reason}")
        return link
