"""`agent-chat config`: what is set, where it came from, and what can be set."""

# Typer evaluates the annotations of a command: they stay real types here.
import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from agent_chat.cli.trust import TrustedFolders

app = typer.Typer(help="Show where each setting comes from, and what can be set.", no_args_is_help=True)

SCHEMA_VERSION = 1


class ConfigFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


class KeysFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


Output = Annotated[ConfigFormat, typer.Option("--output", help="How to print it.")]
Config = Annotated[
    str | None, typer.Option("--config", metavar="FILE", help="Read this configuration and no other.")
]
Folder = Annotated[str, typer.Argument(metavar="[PATH]", help="The folder; default: this one.")]


@app.command()
def show(
    config: Config = None,
    profile: Annotated[
        str | None, typer.Option("--profile", metavar="NAME", help="A profile of the configuration.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("-C", "--set", metavar="KEY=VALUE", help="Any setting; repeatable.")
    ] = None,
    output: Output = ConfigFormat.TEXT,
) -> None:
    """Show every setting, its value and where that came from. Secrets are masked."""
    from agent_chat.cli.load_settings import Options, load_settings
    from agent_chat.cli.settings_show import as_json, as_lines

    loaded = load_settings(Options(config=config, profile=profile, sets=tuple(set_ or ())))
    if output is ConfigFormat.JSON:
        _print_json({"schema_version": SCHEMA_VERSION, **as_json(loaded)})
    else:
        typer.echo("\n".join(as_lines(loaded)))
    for warning in loaded.warnings:
        _say(warning)


@app.command()
def keys(
    output: Annotated[KeysFormat, typer.Option("--output", help="How to print it.")] = KeysFormat.TEXT,
) -> None:
    """List every setting: what it means, its default, its environment variable."""
    from agent_chat.cli.settings_table import as_markdown, settings_table

    if output is KeysFormat.MARKDOWN:
        typer.echo(as_markdown(), nl=False)
        return
    rows = settings_table()
    if output is KeysFormat.JSON:
        settings = [
            {
                "key": row.name,
                "type": row.type,
                "default": row.default,
                "variable": row.variable,
                "meaning": row.meaning,
            }
            for row in rows
        ]
        _print_json({"schema_version": SCHEMA_VERSION, "settings": settings})
        return
    for row in rows:
        typer.echo(f"{row.name}  ({row.type}; default {row.shown_default})")
        typer.echo(f"    {row.meaning}\n    {row.variable}")


@app.command()
def path(output: Output = ConfigFormat.TEXT) -> None:
    """Show the files that are read, the strongest first, and which of them exist."""
    from agent_chat.cli.settings_show import config_files

    files = config_files()
    if output is ConfigFormat.JSON:
        listed = [{"kind": file.kind, "path": str(file.path), "state": file.state} for file in files]
        _print_json({"schema_version": SCHEMA_VERSION, "files": listed})
        return
    width = max(len(file.state) for file in files)
    for file in files:
        typer.echo(f"{file.kind:<8}  {file.state:<{width}}  {_visible(str(file.path))}")


@app.command()
def trust(
    folder: Folder = ".",
    remove: Annotated[bool, typer.Option("--remove", help="Trust it no longer.")] = False,
) -> None:
    """Let a folder's .agent-chat/ choose and narrow settings, never widen them, and load its tools/*.py.

    Its commands/*.md are there then, its .mcp.json may start servers, and its AGENTS.md is told to the model.
    """
    from agent_chat.core.errors import UserError

    path = Path(folder).expanduser()
    trusted = _trusted()
    if remove:
        gone = trusted.remove(path)
        _say(f"{path.resolve()} is no longer trusted." if gone else f"{path.resolve()} was not trusted.")
        return
    if not path.is_dir():
        raise UserError(f"{path} is not a folder.", hint="Name the folder that holds .agent-chat/.")
    new = trusted.add(path)
    _say(f"{path.resolve()} is trusted now." if new else f"{path.resolve()} was trusted already.")


def _trusted() -> "TrustedFolders":
    import os

    from agent_chat.cli.trust import NoHome, TrustedFolders, user_config_folder
    from agent_chat.core.errors import UserError

    try:
        return TrustedFolders(user_config_folder(os.environ))
    except NoHome as error:
        raise UserError(
            f"There is no place to keep the list of trusted folders: {error}.", hint="Set XDG_CONFIG_HOME."
        ) from error


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def _visible(text: str) -> str:
    from agent_chat.ui.sanitize import visible

    return visible(text)


def _say(text: str) -> None:
    typer.echo(_visible(text), err=True)
