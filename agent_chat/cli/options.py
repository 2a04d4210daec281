"""The options that both commands share, declared once."""

# Typer evaluates the annotations of a command: they stay real types here.
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import wraps
from typing import Annotated, Any

import typer


class OutputFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    STREAM_JSON = "stream-json"


class ModeChoice(StrEnum):
    ASK = "ask"
    ACCEPT_EDITS = "accept-edits"
    PLAN = "plan"
    AUTO = "auto"


class ColorChoice(StrEnum):
    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class SharedOptions:
    """What was given on the command line; None and False where nothing was."""

    model: Annotated[
        str | None,
        typer.Option(
            "-m", "--model", metavar="NAME", help="Model: a configured name, provider/model, or local/NAME."
        ),
    ] = None
    api_base: Annotated[
        str | None, typer.Option("--api-base", metavar="URL", help="Address of an OpenAI-compatible server.")
    ] = None
    fallback: Annotated[
        list[str] | None,
        typer.Option("--fallback", metavar="NAME", help="Model to fall back on; repeatable, in order."),
    ] = None
    system: Annotated[
        str | None, typer.Option("-s", "--system", metavar="TEXT", help="System prompt for this session.")
    ] = None
    config: Annotated[
        str | None,
        typer.Option("--config", metavar="FILE", help="Read this configuration and no other."),
    ] = None
    profile: Annotated[
        str | None,
        typer.Option("--profile", metavar="NAME", help="A profile of the configuration."),
    ] = None
    set_: Annotated[
        list[str] | None,
        typer.Option("-C", "--set", metavar="KEY=VALUE", help="Any setting; repeatable."),
    ] = None
    tool: Annotated[
        list[str] | None,
        typer.Option("-t", "--tool", metavar="NAME", help="Allow this tool and no others; repeatable."),
    ] = None
    no_tools: Annotated[bool, typer.Option("--no-tools", help="Offer the model no tools.")] = False
    tools_from: Annotated[
        list[str] | None,
        typer.Option("--tools-from", metavar="FILE", help="Offer the tools of this Python file; repeatable."),
    ] = None
    mcp_config: Annotated[
        list[str] | None,
        typer.Option("--mcp-config", metavar="FILE", help="Use the MCP servers of this file; repeatable."),
    ] = None
    allow: Annotated[
        list[str] | None,
        typer.Option(
            "--allow", metavar="RULE", help="Run this unasked, as in 'shell(git status)'; repeatable."
        ),
    ] = None
    deny: Annotated[
        list[str] | None,
        typer.Option("--deny", metavar="RULE", help="Never run this, whatever allows it; repeatable."),
    ] = None
    mode: Annotated[
        ModeChoice | None,
        typer.Option("--mode", help="What runs without a rule; default: ask before anything with effects."),
    ] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done, and do nothing but read.")
    ] = False
    workspace: Annotated[
        str | None,
        typer.Option("--workspace", metavar="DIR", help="The folder that tools may see; default: this one."),
    ] = None
    max_iterations: Annotated[
        int | None, typer.Option("--max-iterations", min=1, metavar="N", help="Model calls per turn.")
    ] = None
    max_tool_calls: Annotated[
        int | None, typer.Option("--max-tool-calls", min=0, metavar="N", help="Tool calls per turn.")
    ] = None
    max_tokens_total: Annotated[
        int | None, typer.Option("--max-tokens-total", min=1, metavar="N", help="Tokens per turn.")
    ] = None
    max_cost: Annotated[
        float | None, typer.Option("--max-cost", min=0, metavar="USD", help="US dollars per turn.")
    ] = None
    max_time: Annotated[
        float | None, typer.Option("--max-time", min=0.001, metavar="SECONDS", help="Seconds per turn.")
    ] = None
    continue_: Annotated[
        bool, typer.Option("-c", "--continue", help="Go on with the latest session of this workspace.")
    ] = False
    resume: Annotated[
        str | None, typer.Option("-r", "--resume", metavar="ID", help="Go on with this session.")
    ] = None
    record: Annotated[
        str | None, typer.Option("--record", metavar="FILE", help="Record the run, to be replayed.")
    ] = None
    replay: Annotated[
        str | None,
        typer.Option("--replay", metavar="FILE", help="Show a recorded run again: no network, no effects."),
    ] = None
    no_session: Annotated[bool, typer.Option("--no-session", help="Keep nothing of this session.")] = False
    output: Annotated[
        OutputFormat, typer.Option("--output", help="What goes to standard output.", show_default=True)
    ] = OutputFormat.TEXT
    color: Annotated[ColorChoice | None, typer.Option("--color", help="Colors; default: auto.")] = None
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Tell only of errors.")] = False
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Tell also of tool results and reasoning.")
    ] = False


def shared_options(command: Callable[..., int]) -> Callable[..., int]:
    """Gives a command the shared options: its parameter `options` becomes one option a field."""
    own = [
        parameter
        for parameter in inspect.signature(command, eval_str=True).parameters.values()
        if parameter.name != "options"
    ]
    common = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type
        )
        for field in fields(SharedOptions)
    ]

    @wraps(command)
    def wrapper(*args: Any, **given: Any) -> int:
        options = SharedOptions(**{parameter.name: given.pop(parameter.name) for parameter in common})
        return command(*args, options=options, **given)

    parameters = [*own, *common]
    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapper
