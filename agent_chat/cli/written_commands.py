"""Slash commands that the user or a trusted project wrote: markdown files that are sent as a message."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_chat.cli.front_matter import read_markdown
from agent_chat.cli.load_settings import Loaded
from agent_chat.cli.options import SharedOptions
from agent_chat.cli.settings_layers import CONFIG_VARIABLE
from agent_chat.cli.trust import NoHome, TrustedFolders, find_project, user_config_folder
from agent_chat.cli.wiring import workspace_of
from agent_chat.ui.commands import BUILT_IN_NAMES, Command, Controls, Reaction
from agent_chat.ui.phrases import cut
from agent_chat.ui.sanitize import one_line

PROJECT_FOLDER = Path(".agent-chat") / "commands"
USER_FOLDER = "commands"
PLACEHOLDER = "$ARGUMENTS"
"""Stands in the file for what is written behind the command."""
_NAME = re.compile(r"[A-Za-z][\w-]*")


def load_commands(
    options: SharedOptions, loaded: Loaded, on_problem: Callable[[str], None]
) -> tuple[Command, ...]:
    """Those of the user and of the workspace's project; none beside `--config`. Raises UserError where the
    workspace is none."""
    if options.config or loaded.environ.get(CONFIG_VARIABLE, "").strip():
        return ()
    commands, problems = find_commands(workspace_of(options), loaded.environ)
    for problem in problems:
        on_problem(problem)
    return commands


def find_commands(workspace: Path, environ: Mapping[str, str]) -> tuple[tuple[Command, ...], tuple[str, ...]]:
    """The commands by name, and what is wrong with other files, a line each.

    A name that is taken stays with who has it: the program, then the user, then the project.
    """
    try:
        config_folder = user_config_folder(environ)
    except NoHome:
        return (), ()
    files = _files(config_folder / USER_FOLDER)
    problems: list[str] = []
    project = find_project(workspace, PROJECT_FOLDER, os.path.isdir)
    if project is not None and (found := _files(project / PROJECT_FOLDER)):
        if TrustedFolders(config_folder).contains(project):
            files += _inside(found, project.resolve(), problems)
        else:
            problems.append(
                f"The commands in {project / PROJECT_FOLDER} are not there: you have not trusted this folder."
                f" Read them, then run `agent-chat config trust {shlex.quote(str(project))}`"
            )
    commands: dict[str, Command] = {}
    for path in files:
        try:
            command = _command(path, commands)
        except ValueError as error:
            problems.append(f"{path} is ignored: {error}")
        else:
            commands[command.name] = command
    return tuple(commands.values()), tuple(problems)


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.glob("*.md") if path.name[0] not in "_." and path.is_file())
    except OSError:
        return []


def _inside(files: Iterable[Path], folder: Path, problems: list[str]) -> list[Path]:
    kept: list[Path] = []
    for path in files:
        if path.resolve().is_relative_to(folder):
            kept.append(path)
        else:
            problems.append(f"{path} is ignored: it leads out of {folder}")
    return kept


def _command(path: Path, taken: Mapping[str, Command]) -> Command:
    """Raises ValueError, which says what is wrong with the file."""
    name = path.stem
    if not _NAME.fullmatch(name):
        raise ValueError("a command's name begins with a letter and has letters, digits, _ and - only")
    if name in BUILT_IN_NAMES or name in taken:
        raise ValueError(f"there is a command /{name} already")
    front, text = read_markdown(path)
    if not text:
        raise ValueError("it is empty")
    described = front.get("description")
    about = described if isinstance(described, str) and described.strip() else text
    line = cut(one_line(about.strip().split("\n", 1)[0]), 80)
    return Command(name, "[ARGUMENTS]" if PLACEHOLDER in text else "", line, _Say(text))


@dataclass(frozen=True, slots=True)
class _Say:
    """Sends a text, with what was written behind the command in its place."""

    text: str

    def __call__(self, controls: Controls, argument: str) -> Reaction:
        return Reaction(say=self.text.replace(PLACEHOLDER, argument))
