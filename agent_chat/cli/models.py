"""`agent-chat models`: which models there are, and fetching and removing embedded ones."""

# Typer evaluates the annotations of a command: they stay real types here.
import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from agent_chat.core.errors import UserError
    from agent_chat.local.catalog import CatalogEntry
    from agent_chat.local.errors import LocalModelError

app = typer.Typer(help="List models; fetch and remove embedded ones.", no_args_is_help=True)

SCHEMA_VERSION = 1


class ModelsFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


Name = Annotated[str, typer.Argument(metavar="NAME", help="An embedded model: see `agent-chat models list`.")]


@app.command("list")
def list_(
    config: Annotated[
        str | None, typer.Option("--config", metavar="FILE", help="Read this configuration and no other.")
    ] = None,
    output: Annotated[ModelsFormat, typer.Option("--output", help="How to print it.")] = ModelsFormat.TEXT,
) -> None:
    """List embedded models, providers (which keys are set, never the keys), and configured names."""
    from agent_chat.cli.load_settings import Options, load_settings
    from agent_chat.cli.models_list import as_lines, list_models
    from agent_chat.ui.sanitize import visible

    loaded = load_settings(Options(config=config))
    listing = list_models(loaded)
    if output is ModelsFormat.JSON:
        _print_json({"schema_version": SCHEMA_VERSION, **listing})
    else:
        typer.echo(visible("\n".join(as_lines(listing))))
    for warning in loaded.warnings:
        typer.echo(visible(warning), err=True)


@app.command()
def pull(name: Name) -> None:
    """Fetch an embedded model; goes on where it was interrupted. Its hash decides whether it is right."""
    import asyncio

    from agent_chat.cli.pull import pull_model
    from agent_chat.local.errors import LocalModelError

    entry = _entry(name)
    try:
        path = asyncio.run(pull_model(entry, sys.stderr))
    except LocalModelError as error:
        raise _user_error(error) from error
    typer.echo(f"local/{entry.name} is ready: {path}", err=True)


@app.command()
def remove(name: Name) -> None:
    """Remove an embedded model's file, and what is there of an unfinished download."""
    from agent_chat.local.download import remove as remove_model
    from agent_chat.local.errors import LocalModelError
    from agent_chat.local.machine import gib

    entry = _entry(name)
    try:
        freed = remove_model(entry)
    except LocalModelError as error:
        raise _user_error(error) from error
    done = f"is removed: {gib(freed)} freed" if freed else "was not there"
    typer.echo(f"local/{entry.name} {done}.", err=True)


def _entry(name: str) -> "CatalogEntry":
    from pathlib import Path

    from agent_chat.core.errors import UserError
    from agent_chat.local.catalog import resolve
    from agent_chat.local.errors import LocalModelError

    try:
        found = resolve(name)
    except LocalModelError as error:
        raise _user_error(error) from error
    if isinstance(found, Path):
        raise UserError(
            f"{name} is a file of yours: there is nothing to fetch or remove.",
            hint=f"Use it with --model {name}",
        )
    return found


def _user_error(error: "LocalModelError") -> "UserError":
    from agent_chat.core.errors import UserError

    return UserError(error.message, hint=error.hint)


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))
