"""From files and settings to the servers of a session. Costs nothing where no file names one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from agent_chat.cli.load_settings import Loaded
from agent_chat.cli.mcp_files import McpFiles, find_servers
from agent_chat.cli.model_keys import model_key_variables
from agent_chat.cli.toolset import own_folders
from agent_chat.core.errors import UserError
from agent_chat.core.ports import Toolbox

if TYPE_CHECKING:
    from agent_chat.tools.mcp.config import ServerConfig
    from agent_chat.tools.mcp.toolbox import McpToolbox

MCP_PREFIX = "mcp__"
INSTALL = "pip install 'agent-chat[mcp]'"


def open_servers(
    files: McpFiles, loaded: Loaded, hides: Callable[[str], bool], on_problem: Callable[[str], None]
) -> McpToolbox | None:
    """The servers of a session, not started; None where there are none, or none of their tools is allowed.

    `hides` says of a tool that no rule could let it run. Raises UserError for what is wrong with
    `--mcp-config`; everything else that is wrong costs the servers that it is about, and a line.
    """
    patterns = [name for name in loaded.agent.tools.allow if name.startswith(MCP_PREFIX)]
    source = loaded.source("agent", "tools", "allow")
    if not patterns and source.kind == "option":
        return None
    servers, warnings = find_servers(files, loaded)
    for warning in warnings:
        on_problem(warning)
    if not servers:
        return None
    if not patterns:
        on_problem(f"No MCP server is started: {source} allows none of their tools; add {MCP_PREFIX}* to it.")
        return None
    if find_spec("mcp") is None:
        names = ", ".join(server.name for server in servers)
        if files.given:
            raise UserError(f"MCP servers ({names}) need an extra that is not installed.", hint=INSTALL)
        on_problem(f"MCP servers ({names}) need an extra that is not installed: {INSTALL}")
        return None
    return _toolbox(servers, patterns, files.workspace, loaded, hides, on_problem)


def with_servers(own: Toolbox, servers: McpToolbox | None) -> Toolbox:
    """A session's own tools, and those of its servers as they come."""
    if servers is None:
        return own
    from agent_chat.tools.mcp.toolbox import WithServers

    return WithServers(own, servers)


@asynccontextmanager
async def started(servers: McpToolbox | None, *, wait: bool) -> AsyncGenerator[None]:
    """Starts the servers; they are ended again where what is inside fails."""
    if servers is None:
        yield
        return
    servers.start()
    try:
        if wait:
            await servers.started()
        yield
    except BaseException:
        await servers.close()
        raise


def _toolbox(
    servers: list[ServerConfig],
    patterns: list[str],
    workspace: Path,
    loaded: Loaded,
    hides: Callable[[str], bool],
    on_problem: Callable[[str], None],
) -> McpToolbox:
    from agent_chat.tools.mcp.launch import Surroundings, launch
    from agent_chat.tools.mcp.toolbox import McpToolbox

    def offers(name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in patterns) and not hides(name)

    settings, sandbox = loaded.agent.mcp, loaded.agent.sandbox
    around = Surroundings(
        workspace,
        loaded.environ,
        secrets=model_key_variables(loaded),
        cache=_cache_folder(loaded),
        pass_env=sandbox.pass_env,
        hidden=own_folders(loaded),
        confinement=sandbox.confinement,
    )
    return McpToolbox(
        [(server, launch(server, around)) for server in servers],
        start_timeout=settings.start_timeout,
        offers=offers,
        max_characters=settings.max_characters,
        on_problem=on_problem,
    )


def _cache_folder(loaded: Loaded) -> Path | None:
    """Where what servers fetch for themselves is kept."""
    import os

    chosen = loaded.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(chosen):
        return Path(chosen) / "agent-chat" / "mcp"
    from platformdirs import user_cache_path

    try:
        path = user_cache_path("agent-chat", appauthor=False)
    except (RuntimeError, OSError):
        return None
    return path / "mcp" if path.is_absolute() else None
