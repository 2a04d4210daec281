"""All servers of a session as one toolbox, which changes as they come, change and go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from agent_chat.core.model import ToolSpec
from agent_chat.core.ports import Tool, Toolbox
from agent_chat.tools.mcp.config import ServerConfig
from agent_chat.tools.mcp.deferred import FIND_TOOLS, find_tools_tool
from agent_chat.tools.mcp.launch import Launch
from agent_chat.tools.mcp.names import tool_name
from agent_chat.tools.mcp.server import Server, State
from agent_chat.tools.mcp.specs import size_of
from agent_chat.tools.mcp.tool import McpTool


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """A server as people are shown it."""

    name: str
    state: State
    reason: str
    """Why it cannot be used, where it cannot."""
    place: str
    """The file that names it."""
    where: str
    """Its command or address, and what holds it."""
    tools: tuple[Tool, ...]


class McpToolbox:
    """Satisfies `Toolbox`. Servers stand in the order given, whichever is ready first.

    `start_timeout`: seconds until a server must be ready, where its entry says nothing else. `offers`:
    whether a tool may be offered in this session, by name. Where the descriptions of all tools are more than
    `max_characters`, they are found by `find_tools` first. `on_problem` is told of servers, a line each.
    """

    def __init__(
        self,
        servers: Iterable[tuple[ServerConfig, Launch]],
        *,
        start_timeout: float,
        offers: Callable[[str], bool],
        max_characters: int,
        on_problem: Callable[[str], None],
    ) -> None:
        self._servers = tuple(
            Server(config, launch, start_timeout, self._changed, on_problem) for config, launch in servers
        )
        self._offers = offers
        self._max_characters = max_characters
        self._tools: dict[str, McpTool] = {}
        self._filtered: frozenset[str] = frozenset()
        """Names of tools that are there and not to be had."""
        self._revealed: dict[str, None] = {}
        """In the order in which they were found."""
        self._specs: tuple[ToolSpec, ...] | None = ()
        self._find: Tool | None = None

    def start(self) -> None:
        for server in self._servers:
            server.start()

    async def started(self) -> None:
        """Until every server is ready or has failed."""
        await asyncio.gather(*(server.started() for server in self._servers))

    async def close(self) -> None:
        """Within 3 s no server is left."""
        await asyncio.gather(*(server.close() for server in self._servers))

    def specs(self) -> tuple[ToolSpec, ...]:
        if self._specs is None:
            self._specs = self._describe()
        return self._specs

    def get(self, name: str) -> Tool | None:
        if name == FIND_TOOLS:
            return self._find
        # Also what was not found yet: a model that knows the name, from a session resumed, may use it.
        return self._tools.get(name)

    def exists(self, name: str) -> bool:
        return name in self._tools or name in self._filtered

    def vouches(self, name: str) -> bool:
        """Whether the user trusts what the server says of this tool."""
        return any(
            server.config.trust and name == tool_name(server.name, tool.name)
            for server in self._servers
            for tool in server.tools
        )

    def infos(self) -> Sequence[ServerInfo]:
        return [
            ServerInfo(
                server.name,
                server.state,
                server.reason,
                server.config.place,
                server.launch.describe(),
                tuple(tool for tool in self._tools.values() if tool.server is server),
            )
            for server in self._servers
        ]

    def _changed(self) -> None:
        found: dict[str, McpTool] = {}
        filtered: set[str] = set()
        for server in self._servers:
            for remote in server.tools:
                name = tool_name(server.name, remote.name)
                if name in found:
                    continue
                if _is_chosen(server.config, remote.name) and self._offers(name):
                    found[name] = McpTool(name, server, remote)
                else:
                    filtered.add(name)
        self._tools = found
        self._filtered = frozenset(filtered)
        self._specs = None

    def _describe(self) -> tuple[ToolSpec, ...]:
        specs = [tool.spec for tool in self._tools.values()]
        if sum(map(size_of, specs)) <= self._max_characters:
            self._find = None
            return tuple(specs)
        self._find = find_tools_tool(self._told(), lambda: specs, self._reveal)
        shown = [self._tools[name].spec for name in self._revealed if name in self._tools]
        return (self._find.spec, *shown)

    def _told(self) -> str:
        counts: dict[str, int] = {}
        for tool in self._tools.values():
            counts[tool.server.name] = counts.get(tool.server.name, 0) + 1
        return "There are " + ", ".join(f"{count} of {name}" for name, count in counts.items()) + "."

    def _reveal(self, names: Sequence[str]) -> None:
        self._revealed |= dict.fromkeys(names)
        self._specs = None


class WithServers:
    """Satisfies `Toolbox`: a session's own tools first, which do not change, then those of servers."""

    def __init__(self, own: Toolbox, servers: McpToolbox) -> None:
        self._own = own
        self._servers = servers

    def specs(self) -> tuple[ToolSpec, ...]:
        return (*self._own.specs(), *self._servers.specs())

    def get(self, name: str) -> Tool | None:
        return self._own.get(name) or self._servers.get(name)

    def exists(self, name: str) -> bool:
        return self._own.exists(name) or self._servers.exists(name)


def _is_chosen(config: ServerConfig, tool: str) -> bool:
    allowed = config.allow is None or any(fnmatchcase(tool, pattern) for pattern in config.allow)
    return allowed and not any(fnmatchcase(tool, pattern) for pattern in config.deny)
