"""The user's own tools: which files hold some, and how they join the program's."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent_chat.cli.load_settings import Loaded, working_folder
from agent_chat.cli.settings_layers import CONFIG_VARIABLE
from agent_chat.cli.trust import NoHome, TrustedFolders, find_project, user_config_folder
from agent_chat.core.errors import UserError

if TYPE_CHECKING:
    from agent_chat.tools.tool import FunctionTool
    from agent_chat.tools.toolbox import NamedToolbox
    from agent_chat.tools.user_tools import UserTool

PROJECT_FOLDER = Path(".agent-chat") / "tools"
USER_FOLDER = "tools"


@dataclass(frozen=True, slots=True)
class _Source:
    path: Path
    undecorated: bool
    """Whether also functions without the decorator are tools."""


async def load_own_tools(
    given: Sequence[str] | None,
    config: str | None,
    loaded: Loaded,
    workspace: Path,
    on_problem: Callable[[str], None],
) -> tuple[FunctionTool, ...]:
    """The tools of the files that `--tools-from` names, of the project where it is trusted, and of the user;
    and what reads skills, where there are some.

    A broken file costs that file, which is told. Raises UserError where a file that was named is not there.
    """
    sources = [*_given(given or ())]
    skills: tuple[FunctionTool, ...] = ()
    if not (config or loaded.environ.get(CONFIG_VARIABLE, "").strip()):
        sources += _found(loaded, workspace, on_problem)
        skills = _skills(loaded, workspace, on_problem)
    if not sources:
        return skills
    # The files are programs: whatever they do at their start must not hold up the keys.
    tools, problems = await asyncio.to_thread(_load, sources)
    for problem in problems:
        on_problem(problem)
    return (*tools, *skills)


def joined(
    program: NamedToolbox, own: Sequence[FunctionTool], on_problem: Callable[[str], None]
) -> NamedToolbox:
    """Both as one. A name that is taken stays with who has it, which is told."""
    from agent_chat.tools.toolbox import Combined, ToolRegistry

    kept: dict[str, FunctionTool] = {}
    for tool in own:
        if program.exists(tool.name):
            taken = "that is the name of a tool of the program"
        elif tool.name in kept:
            taken = f"{kept[tool.name].origin} has a tool of this name"
        else:
            kept[tool.name] = tool
            continue
        on_problem(
            f"{tool.origin}: the tool '{tool.name}' is left out: {taken}; name it otherwise: @tool(name=…)"
        )
    return Combined((program, ToolRegistry(kept.values()))) if kept else program


def names_allowed(loaded: Loaded, toolbox: NamedToolbox, own: Sequence[FunctionTool]) -> tuple[str, ...]:
    """The user's own tools that the model may call: all, unless an option lists what may be."""
    if loaded.source("agent", "tools", "allow").kind == "option":
        return ()
    return tuple(tool.name for tool in own if toolbox.get(tool.name) is tool)


def _given(names: Sequence[str]) -> Iterator[_Source]:
    for name in names:
        path = Path(os.path.expanduser(name))
        path = path if path.is_absolute() else working_folder() / path
        if not path.is_file():
            raise UserError(f"{path} is no file (--tools-from).", hint="Name a Python file with functions.")
        yield _Source(path, undecorated=True)


def _found(loaded: Loaded, workspace: Path, on_problem: Callable[[str], None]) -> Iterator[_Source]:
    try:
        config_folder = user_config_folder(loaded.environ)
    except NoHome:
        return
    project = find_project(workspace, PROJECT_FOLDER, os.path.isdir)
    if project is not None and (files := _files(project / PROJECT_FOLDER)):
        if TrustedFolders(config_folder).contains(project):
            yield from (_Source(file, undecorated=False) for file in files)
        else:
            import shlex

            on_problem(
                f"The tools in {project / PROJECT_FOLDER} are not there: you have not trusted this folder. "
                f"Read them, then run `agent-chat config trust {shlex.quote(str(project))}`"
            )
    yield from (_Source(file, undecorated=False) for file in _files(config_folder / USER_FOLDER))


def _skills(loaded: Loaded, workspace: Path, on_problem: Callable[[str], None]) -> tuple[FunctionTool, ...]:
    if not loaded.agent.instructions:
        return ()
    from agent_chat.cli.skills import SkillTool, find_skills

    skills, problems = find_skills(workspace, loaded.environ)
    for problem in problems:
        on_problem(problem)
    return (SkillTool(skills),) if skills else ()


def _files(folder: Path) -> list[Path]:
    """In the order of their names; those that begin with `_` or `.` are none."""
    try:
        return sorted(path for path in folder.glob("*.py") if path.name[0] not in "_." and path.is_file())
    except OSError:
        return []


def _load(sources: Sequence[_Source]) -> tuple[tuple[UserTool, ...], list[str]]:
    from agent_chat.tools.user_tools import load_tool_file

    tools: list[UserTool] = []
    problems: list[str] = []
    for source in sources:
        file = load_tool_file(source.path, undecorated=source.undecorated)
        tools += file.tools
        problems += file.problems
    return tuple(tools), problems
