"""Skills: folders with a `SKILL.md`; the model knows their names, and reads the text when it needs it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_chat.cli.front_matter import read_markdown
from agent_chat.cli.trust import NoHome, TrustedFolders, find_project, user_config_folder
from agent_chat.tools.tool import FunctionTool, ToolError, tool
from agent_chat.ui.phrases import cut
from agent_chat.ui.sanitize import one_line

FOLDER = Path(".agents") / "skills"
FILE = "SKILL.md"
EMBEDDED_LIMIT = 1_000
"""Characters of the list for an embedded model: there every word takes time."""


@dataclass(frozen=True, slots=True)
class Skill:
    name: str
    description: str
    path: Path
    """Its `SKILL.md`."""


class SkillTool(FunctionTool):
    """`read_skill`, for these skills."""

    def __init__(self, skills: Sequence[Skill]) -> None:
        known = {skill.name: skill for skill in skills}

        @tool(effect="read", timeout=10)
        def read_skill(name: str) -> str:
            """Reads a skill: how a certain kind of task is done well. Read it before you begin such a task.

            Args:
                name: the name of the skill, as it is listed
            """
            skill = known.get(name.strip())
            if skill is None:
                raise ToolError(f"there is no skill {name!r}; there are: {', '.join(known)}")
            try:
                text = read_markdown(skill.path)[1]
            except ValueError as error:
                raise ToolError(f"the skill cannot be read: {error}") from error
            return f"{text}\n\n[The files of this skill are in {skill.path.parent}]"

        super().__init__(read_skill)
        self._lines = [f"- {skill.name}: {skill.description}" for skill in skills]

    def appended_to(self, system: str, *, embedded: bool = False) -> str:
        """The system prompt with the list of the skills behind it."""
        listed = "\n".join(self._lines)
        if embedded:
            listed = cut(listed, EMBEDDED_LIMIT)
        return f"{system}\n\nSkills, which read_skill reads when a task is of their kind:\n{listed}".lstrip()


def find_skills(
    workspace: Path, environ: Mapping[str, str], home: Path | None = None
) -> tuple[tuple[Skill, ...], tuple[str, ...]]:
    """The user's skills, then those of the trusted project; and what is wrong with others, a line each.

    `home`: of the user; by default what the system says.
    """
    try:
        config_folder = user_config_folder(environ)
    except NoHome:
        return (), ()
    own = (home or Path(os.path.expanduser("~"))) / FOLDER
    files = _files(own)
    problems: list[str] = []
    project = find_project(workspace, FOLDER, os.path.isdir)
    if project is not None and project / FOLDER != own and (found := _files(project / FOLDER)):
        if TrustedFolders(config_folder).contains(project):
            inside = [path for path in found if path.resolve().is_relative_to(project.resolve())]
            problems += [
                f"{path} is ignored: it leads out of {project}" for path in found if path not in inside
            ]
            files += inside
        else:
            problems.append(
                f"The skills in {project / FOLDER} are not there: you have not trusted this folder. "
                f"Read them, then run `agent-chat config trust {shlex.quote(str(project))}`"
            )
    skills: dict[str, Skill] = {}
    for path in files:
        try:
            skill = _skill(path)
        except ValueError as error:
            problems.append(f"{path} is ignored: {error}")
            continue
        if skills.setdefault(skill.name, skill) is not skill:
            problems.append(f"{path} is ignored: there is a skill {skill.name} already")
    return tuple(skills.values()), tuple(problems)


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.glob(f"*/{FILE}") if path.is_file())
    except OSError:
        return []


def _skill(path: Path) -> Skill:
    """Raises ValueError, which says what is wrong with the file."""
    front, _ = read_markdown(path)
    description = front.get("description")
    if not isinstance(description, str) or not description.strip():
        raise ValueError("a skill needs a description: in front, between two lines ---")
    return Skill(one_line(path.parent.name), cut(one_line(description.strip()), 300), path)
