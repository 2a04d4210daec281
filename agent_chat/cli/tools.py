"""`agent-chat tools`: what the model may call, what it is told of it, and a call to try."""

# Typer evaluates the annotations of a command: they stay real types here.
import json
from enum import StrEnum
from typing import Annotated, Any

import typer

app = typer.Typer(help="List tools, show one, try one.", no_args_is_help=True)

SCHEMA_VERSION = 1


class ToolsFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


Output = Annotated[ToolsFormat, typer.Option("--output", help="How to print it.")]
ToolsFrom = Annotated[
    list[str] | None,
    typer.Option("--tools-from", metavar="FILE", help="Also the tools of this Python file; repeatable."),
]
Config = Annotated[
    str | None, typer.Option("--config", metavar="FILE", help="Read this configuration and no other.")
]
Workspace = Annotated[
    str | None, typer.Option("--workspace", metavar="DIR", help="The folder that tools may see.")
]


@app.command(name="list")
def list_tools(
    tools_from: ToolsFrom = None,
    config: Config = None,
    workspace: Workspace = None,
    output: Output = ToolsFormat.TEXT,
) -> None:
    """List all tools: their effect, whether the model may call them, and where they come from."""
    from agent_chat.cli.tool_bench import ToolBench, run_with

    async def run(bench: ToolBench) -> None:
        tools = bench.tools()
        if output is ToolsFormat.JSON:
            _print_json({"tools": [tool.to_json() for tool in tools]})
            return
        width = max(len(tool.name) for tool in tools)
        for tool in tools:
            allowed = "allowed" if tool.is_allowed else "not allowed"
            line = f"{tool.name:<{width}}  {tool.effect:<7}  {allowed:<11}  {tool.source:<8}  {tool.summary}"
            typer.echo(_line(line))

    run_with(tools_from, config, workspace, run)


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tool.")],
    tools_from: ToolsFrom = None,
    config: Config = None,
    workspace: Workspace = None,
    output: Output = ToolsFormat.TEXT,
) -> None:
    """Show what the model is told of a tool: its description and the JSON Schema of its arguments."""
    from agent_chat.cli.tool_bench import ToolBench, run_with

    async def run(bench: ToolBench) -> None:
        tool = bench.tool(name)
        if output is ToolsFormat.JSON:
            _print_json({**tool.to_json(), "description": tool.description, "parameters": tool.parameters})
            return
        allowed = "allowed" if tool.is_allowed else "not allowed"
        limit = "no time limit" if tool.timeout is None else f"time limit {tool.timeout:g} s"
        typer.echo(_line(f"{tool.name} | {tool.effect} | {allowed} | {limit} | {tool.source}"))
        typer.echo(f"\n{_text(tool.description)}\n")
        typer.echo(_text(json.dumps(tool.parameters, indent=2, ensure_ascii=False)))

    run_with(tools_from, config, workspace, run)


@app.command(name="test")
def try_tool(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tool.")],
    arguments: Annotated[str, typer.Argument(metavar="[JSON]", help="Its arguments, a JSON object.")] = "{}",
    yes: Annotated[bool, typer.Option("--yes", help="Run it without asking.")] = False,
    tools_from: ToolsFrom = None,
    config: Config = None,
    workspace: Workspace = None,
    output: Output = ToolsFormat.TEXT,
) -> int:
    """Run one call as a session would: checked, approved, with the same limits. No model is asked."""
    from agent_chat.cli.tool_bench import ToolBench, run_with

    async def run(bench: ToolBench) -> int:
        tried = await bench.call(name, arguments)
        if output is ToolsFormat.JSON:
            _print_json(tried.to_json())
        else:
            typer.echo(_text(tried.content), err=not tried.ok)
        return tried.code

    return run_with(tools_from, config, workspace, run, yes=yes)


def _print_json(value: dict[str, Any]) -> None:
    from agent_chat.ui.sanitize import json_safe

    text = json.dumps({"schema_version": SCHEMA_VERSION, **value}, ensure_ascii=False, indent=2)
    typer.echo("\n".join(map(json_safe, text.split("\n"))))


def _line(text: str) -> str:
    from agent_chat.ui.sanitize import visible

    return visible(text).replace("\n", " ").rstrip()


def _text(text: str) -> str:
    from agent_chat.ui.sanitize import revealed

    return revealed(text)
