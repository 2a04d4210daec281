"""Which files name MCP servers, who wrote them, and what of them counts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent_chat.cli.load_settings import Loaded, working_folder
from agent_chat.cli.model_keys import model_key_variables
from agent_chat.cli.settings_layers import CONFIG_VARIABLE
from agent_chat.cli.trust import NoHome, TrustedFolders, user_config_folder
from agent_chat.core.errors import UserError

if TYPE_CHECKING:
    from agent_chat.tools.mcp.config import Origin, Parsed, ServerConfig

USER_FILE = "mcp.json"
PROJECT_FILE = ".mcp.json"
LARGEST = 1_000_000
"""Bytes of a file that is read."""


@dataclass(frozen=True, slots=True)
class McpFiles:
    """Where to look: `given` with `--mcp-config`, and besides unless `only_given`."""

    given: Sequence[str]
    only_given: bool
    workspace: Path


def named_by(given: Sequence[str] | None, config: str | None, loaded: Loaded, workspace: Path) -> McpFiles:
    """Where to look under these options: `--config` names the one configuration that is read."""
    chosen = config or loaded.environ.get(CONFIG_VARIABLE, "").strip()
    return McpFiles(tuple(given or ()), bool(chosen), workspace)


def find_servers(files: McpFiles, loaded: Loaded) -> tuple[list[ServerConfig], list[str]]:
    """The servers, those of the command line first, then the user's, then the project's; and warnings.

    A name that stands for a server already is not given to another. Raises UserError where a file that was
    named with `--mcp-config` has mistakes.
    """
    warnings: list[str] = []
    servers: dict[str, ServerConfig] = {}
    for server in (*_given(files, loaded, warnings), *_found(files, loaded, warnings)):
        first = servers.setdefault(server.name, server)
        if first is not server and server.origin == "project":
            warnings.append(
                f"{server.place}: the server '{server.name}' is left aside:"
                f" {first.place} has one of this name"
            )
    return list(servers.values()), warnings


def _given(files: McpFiles, loaded: Loaded, warnings: list[str]) -> Iterator[ServerConfig]:
    names: dict[str, str] = {}
    for name in files.given:
        path = Path(os.path.expanduser(name))
        path = path if path.is_absolute() else working_folder() / path
        try:
            text = _read(path)
        except (OSError, ValueError) as error:
            raise UserError(
                f"{path} cannot be read (--mcp-config): {_reason(error)}", hint="Check the path."
            ) from error
        parsed = _parse(text, str(path), "command line", loaded)
        if parsed.mistakes:
            lines = "".join(f"\n  {mistake}" for mistake in parsed.mistakes)
            raise UserError(f"--mcp-config has mistakes:{lines}", hint="See docs/mcp.md. Nothing was sent.")
        warnings += parsed.warnings
        for server in parsed.servers:
            if server.name in names:
                raise UserError(
                    f"--mcp-config: {names[server.name]} and {path} both have a server '{server.name}'.",
                    hint="Give one of them another name.",
                )
            names[server.name] = str(path)
            yield server


def _found(files: McpFiles, loaded: Loaded, warnings: list[str]) -> Iterator[ServerConfig]:
    if files.only_given:
        return
    try:
        folder = user_config_folder(loaded.environ)
    except NoHome:
        return
    yield from _lenient(folder / USER_FILE, "user", loaded, warnings)
    project = find_project_file(files.workspace)
    if project is None:
        return
    if not TrustedFolders(folder).contains(project.parent):
        import shlex

        warnings.append(
            f"{project} is ignored: you have not trusted this folder. Read it, then run"
            f" `agent-chat config trust {shlex.quote(str(project.parent))}`"
        )
        return
    yield from _lenient(project, "project", loaded, warnings)


def find_project_file(workspace: Path) -> Path | None:
    """The nearest `.mcp.json` from the workspace upwards, up to its repository's root."""
    folders = [workspace, *workspace.parents]
    root = next((index for index, folder in enumerate(folders) if os.path.exists(folder / ".git")), 0)
    found = (folder / PROJECT_FILE for folder in folders[: root + 1])
    return next((path for path in found if os.path.isfile(path)), None)


def _lenient(path: Path, origin: Origin, loaded: Loaded, warnings: list[str]) -> Iterator[ServerConfig]:
    """The servers of a file that was not named: its mistakes cost what they are in."""
    try:
        text = _read(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError) as error:
        warnings.append(f"{path} is ignored: {_reason(error)}")
        return
    parsed = _parse(text, str(path), origin, loaded)
    warnings += [*map(str, parsed.mistakes), *parsed.warnings]
    yield from parsed.servers


def _parse(text: str, place: str, origin: Origin, loaded: Loaded) -> Parsed:
    from agent_chat.tools.mcp.config import parse_servers

    withheld = model_key_variables(loaded) if origin == "project" else ()
    return parse_servers(text, place, origin, loaded.environ, withheld)


def _read(path: Path) -> str:
    """Raises OSError; ValueError for what is no text or too large."""
    with path.open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(f"it is larger than {LARGEST:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError("it is not UTF-8") from error


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
