"""`agent-chat mcp`: which MCP servers there are, whether they can be used, and their tools."""

# Typer evaluates the annotations of a command: they stay real types here.
import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_chat.tools.mcp.toolbox import ServerInfo

app = typer.Typer(help="Show MCP servers and their tools.", no_args_is_help=True)

SCHEMA_VERSION = 1


class McpFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


@app.command(name="list")
def list_(
    mcp_config: Annotated[
        list[str] | None,
        typer.Option("--mcp-config", metavar="FILE", help="Servers of this file; repeatable."),
    ] = None,
    config: Annotated[
        str | None, typer.Option("--config", metavar="FILE", help="Read this configuration and no other.")
    ] = None,
    workspace: Annotated[
        str, typer.Option("--workspace", metavar="DIR", help="The folder that tools may see.")
    ] = ".",
    output: Annotated[McpFormat, typer.Option("--output", help="How to print it.")] = McpFormat.TEXT,
) -> None:
    """Connect to every configured server, list what it offers, and disconnect."""
    import asyncio

    infos = asyncio.run(_infos(mcp_config, config, _folder(workspace)))
    if output is McpFormat.JSON:
        shown = {"schema_version": SCHEMA_VERSION, "servers": [_json(info) for info in infos]}
        typer.echo(json.dumps(shown, ensure_ascii=False, indent=2))
        return
    if not infos:
        typer.echo("No MCP server is configured; see docs/mcp.md.", err=True)
    for line in _lines(infos):
        typer.echo(_visible(line))


def _folder(workspace: str) -> Path:
    from agent_chat.core.errors import UserError

    try:
        return Path(workspace).resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise UserError(
            f"The workspace {workspace} cannot be used: {error}", hint="Name a folder with --workspace."
        ) from error


async def _infos(given: list[str] | None, config: str | None, folder: Path) -> "Sequence[ServerInfo]":
    from agent_chat.cli.load_settings import Options, load_settings
    from agent_chat.cli.mcp_files import named_by
    from agent_chat.cli.mcp_servers import open_servers

    loaded = load_settings(Options(config=config), workspace=folder)
    for warning in loaded.warnings:
        _say(warning)
    files = named_by(given, config, loaded, folder)
    servers = open_servers(files, loaded, lambda name: False, _say_unless_listed)
    if servers is None:
        return ()
    try:
        servers.start()
        await servers.started()
        return servers.infos()
    finally:
        await servers.close()


def _say_unless_listed(problem: str) -> None:
    """What is said of one server stands in the list."""
    if not problem.startswith("MCP server "):
        _say(problem)


def _lines(infos: "Sequence[ServerInfo]") -> list[str]:
    lines: list[str] = []
    for info in infos:
        state = f"{info.state}: {info.reason}" if info.reason else info.state
        lines += [f"{info.name}  {state}", f"  {info.where}", f"  named in {info.place}"]
        width = max((len(tool.spec.name) for tool in info.tools), default=0)
        for tool in info.tools:
            said = tool.spec.description.partition("\n")[0][:80]
            lines.append(f"    {tool.spec.name:<{width}}  {tool.effect:<7}  {said}".rstrip())
    return lines


def _json(info: "ServerInfo") -> dict[str, Any]:
    return {
        "name": info.name,
        "state": info.state,
        "reason": info.reason or None,
        "where": info.where,
        "file": info.place,
        "tools": [
            {"name": tool.spec.name, "effect": tool.effect, "description": tool.spec.description}
            for tool in info.tools
        ],
    }


def _visible(text: str) -> str:
    from agent_chat.ui.sanitize import visible

    return visible(text)


def _say(text: str) -> None:
    typer.echo(_visible(text), err=True)
