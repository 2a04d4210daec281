"""A server's tool as a tool of ours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from agent_chat.core.approval import Preview
from agent_chat.core.model import ToolSpec
from agent_chat.core.observation import Effect, OnFailure, ToolResult
from agent_chat.core.ports import ToolContext
from agent_chat.tools.mcp.config import Confined, Http, ServerConfig
from agent_chat.tools.mcp.failures import ServerFailed
from agent_chat.tools.mcp.results import to_result
from agent_chat.tools.mcp.server import Server
from agent_chat.tools.mcp.specs import spec_of
from agent_chat.tools.mcp.text import one_line
from agent_chat.tools.mcp.validation import ArgumentCheck

if TYPE_CHECKING:
    import mcp_types


class McpTool:
    """Satisfies `Tool`. `name` is what models call it; the server is told its own name for it."""

    def __init__(self, name: str, server: Server, remote: mcp_types.Tool) -> None:
        self.name = name
        self.server = server
        self._remote = remote
        self._check = ArgumentCheck(remote.input_schema)

    def __repr__(self) -> str:
        return f"<tool {self._remote.name!r} of the MCP server {self.server.name!r}>"

    @property
    def spec(self) -> ToolSpec:
        return self._spec

    @cached_property
    def _spec(self) -> ToolSpec:
        return spec_of(self.name, self._remote)

    @property
    def effect(self) -> Effect:
        return effect_of(
            self.server.config, self._remote.annotations, confined=self.server.launch.is_confined
        )

    @property
    def timeout(self) -> float | None:
        return self.server.config.timeout

    @property
    def retries(self) -> int:
        return 0

    @property
    def on_failure(self) -> OnFailure:
        return "observe"

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return self._check.check(arguments)

    async def preview(self, arguments: Mapping[str, Any]) -> Preview | None:
        """The server and the call, as it would be sent; what the server says of its danger, where it does."""
        hints = self._remote.annotations
        warned = " (destructive, says its server)" if hints is not None and hints.destructive_hint else ""
        shown = json.dumps(arguments, ensure_ascii=False, indent=2)
        call = f"{one_line(self._remote.name, 200)}{warned}\n{shown}"
        return Preview("text", call, f"MCP server {self.server.name}; {self._holds()}")

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        def progress(done: float, total: float | None, message: str | None) -> None:
            context.output(f"{_progress(done, total, message)}\n")

        try:
            return to_result(await self.server.call(self._remote.name, arguments, progress))
        except ServerFailed as failed:
            return ToolResult(str(failed), ok=False)

    def _holds(self) -> str:
        match self.server.config.transport:
            case Http(url):
                return f"at {url.partition('?')[0]}"
            case _ if not self.server.launch.is_confined:
                return "no sandbox"
            case _:
                sandbox = self.server.config.sandbox
                return f"in a sandbox, network {'on' if sandbox is None or sandbox.network else 'off'}"


def effect_of(config: ServerConfig, hints: mcp_types.ToolAnnotations | None, *, confined: bool) -> Effect:
    """What a tool may do, for the policy.

    A server's own word counts only where the user trusts the server, and then only when it does not
    contradict itself. `execute` is said of what a sandbox without network holds; all else can reach others.
    """
    if config.trust and hints is not None and hints.read_only_hint and not hints.destructive_hint:
        return "read"
    match config.sandbox:
        case Confined(network=False) if confined and not isinstance(config.transport, Http):
            return "execute"
        case _:
            return "network"


def _progress(done: float, total: float | None, message: str | None) -> str:
    said = f"{done:g} of {total:g}" if total else f"{done:g}"
    return f"{said}: {one_line(message, 300)}" if message else said
