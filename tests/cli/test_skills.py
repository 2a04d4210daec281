"""Which skills there are, and what is said of others."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.conftest import write

from agent_chat.cli.skills import Skill, find_skills


class Folder:
    """A user's skills and a project's."""

    def __init__(self, base: Path) -> None:
        self.config, self.home, self.root = base / "config", base / "home", base / "project"
        self.root.mkdir()
        write(self.config / "agent-chat" / "trusted_folders", f"{self.root}\n")

    def write(self, where: Path, name: str, text: str) -> Path:
        path = where / ".agents" / "skills" / name / "SKILL.md"
        write(path, text)
        return path

    def find(self) -> tuple[tuple[Skill, ...], tuple[str, ...]]:
        return find_skills(self.root, {"XDG_CONFIG_HOME": str(self.config)}, self.home)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path.resolve())


def test_the_users_come_first_and_keep_their_names(folder: Folder) -> None:
    mine = folder.write(folder.home, "b", "---\nname: b\ndescription: Of mine.\n---\nBody.")
    theirs = folder.write(folder.root, "a", "---\ndescription: |\n  Of\n  theirs.\n---\nBody.")
    twice = folder.write(folder.root, "b", "---\ndescription: Again.\n---\nBody.")
    skills, problems = folder.find()
    assert [(skill.name, skill.path) for skill in skills] == [("b", mine), ("a", theirs)]
    assert "\n" not in skills[1].description
    assert problems == (f"{twice} is ignored: there is a skill b already",)


def test_a_project_that_is_not_trusted_has_none(folder: Folder) -> None:
    (folder.config / "agent-chat" / "trusted_folders").unlink()
    folder.write(folder.root, "a", "---\ndescription: Theirs.\n---\nBody.")
    skills, [problem] = folder.find()
    assert skills == ()
    assert problem.endswith(f"`agent-chat config trust {folder.root}`")


def test_one_that_says_nothing_of_itself_is_none(folder: Folder) -> None:
    path = folder.write(folder.home, "a", "Body.")
    assert folder.find() == (
        (),
        (f"{path} is ignored: a skill needs a description: in front, between two lines ---",),
    )


def test_a_projects_link_that_leads_out_is_not_followed(folder: Folder) -> None:
    secret = folder.root.parent / "secret"
    write(secret, "---\ndescription: x\n---\nkey")
    link = folder.root / ".agents" / "skills" / "a" / "SKILL.md"
    link.parent.mkdir(parents=True)
    link.symlink_to(secret)
    skills, [problem] = folder.find()
    assert (skills, "it leads out of" in problem) == ((), True)
