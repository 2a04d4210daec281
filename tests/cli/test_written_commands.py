"""Commands that are written as markdown files: which count, what they send, what is said of the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.conftest import write
from support.faces import FakeControls

from agent_chat.cli.front_matter import LARGEST
from agent_chat.cli.written_commands import find_commands
from agent_chat.ui.commands import Commands, Reaction


class Folder:
    """A user's commands and a project's."""

    def __init__(self, base: Path) -> None:
        self.config = base / "config"
        self.user = self.config / "agent-chat" / "commands"
        self.root = base / "project"
        self.project = self.root / ".agent-chat" / "commands"
        self.root.mkdir()
        write(self.config / "agent-chat" / "trusted_folders", f"{self.root}\n")

    def find(self) -> tuple[Commands, tuple[str, ...]]:
        commands, problems = find_commands(self.root, {"XDG_CONFIG_HOME": str(self.config)})
        return Commands(FakeControls(), commands), problems

    def problem(self) -> str:
        """What is wrong with the only file, which is no command then."""
        commands, [problem] = self.find()
        assert commands.names == Commands(FakeControls()).names
        return problem


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path.resolve())


def test_what_stands_behind_takes_its_place_in_the_text(folder: Folder) -> None:
    write(folder.user / "review.md", "Review $ARGUMENTS.\n\nThen $ARGUMENTS again.\n")
    commands, problems = folder.find()
    assert problems == ()
    assert commands.react("/review a  b") == Reaction(say="Review a  b.\n\nThen a  b again.")
    assert commands.react("/review") == Reaction(say="Review .\n\nThen  again.")


def test_one_without_a_place_takes_nothing(folder: Folder) -> None:
    write(folder.project / "tidy.md", "Tidy up.")
    commands, _ = folder.find()
    assert commands.react("/tidy") == Reaction(say="Tidy up.")
    reaction = commands.react("/tidy now")
    assert reaction is not None
    assert [note.text for note in reaction.notes] == ["/tidy takes nothing behind it."]


def test_they_are_completed_and_listed_with_what_they_say_of_themselves(folder: Folder) -> None:
    write(folder.user / "review.md", "---\ndescription: reads a \x1b[2Jchange\n---\nReview $ARGUMENTS.")
    write(folder.project / "tidy.md", "Tidy up.\nAll of it.")
    commands, problems = folder.find()
    assert problems == (
        f"{folder.user / 'review.md'} is ignored: what stands between the lines --- is no YAML",
    )
    write(folder.user / "review.md", "---\r\ndescription: reads a change\r\n---\r\nReview $ARGUMENTS.")
    commands, problems = folder.find()
    assert problems == ()
    assert commands.names[-2:] == ("/review", "/tidy")
    reaction = commands.react("/help")
    assert reaction is not None
    lines = [line.split() for line in reaction.notes[0].text.splitlines()]
    assert ["/review", "[ARGUMENTS]", "reads", "a", "change"] in lines
    assert ["/tidy", "Tidy", "up."] in lines


def test_names_that_are_taken_stay_with_who_has_them(folder: Folder) -> None:
    write(folder.user / "tidy.md", "Mine.")
    write(folder.project / "tidy.md", "The project's.")
    write(folder.project / "exit.md", "Stay.")
    write(folder.project / "help.md", "Help.")
    commands, problems = folder.find()
    assert commands.react("/tidy") == Reaction(say="Mine.")
    assert commands.react("/exit") == Reaction(leave="exit")
    assert [problem.rpartition(": ")[2] for problem in problems] == [
        f"there is a command /{name} already" for name in ("exit", "help", "tidy")
    ]


def test_a_project_that_is_not_trusted_has_none(folder: Folder) -> None:
    (folder.config / "agent-chat" / "trusted_folders").unlink()
    write(folder.project / "tidy.md", "Tidy up.")
    assert folder.problem().endswith(f"`agent-chat config trust {folder.root}`")


def test_a_projects_link_that_leads_out_is_not_followed(folder: Folder) -> None:
    write(folder.root.parent / "secret.md", "key")
    folder.project.mkdir(parents=True)
    (folder.project / "tidy.md").symlink_to(folder.root.parent / "secret.md")
    assert "it leads out of" in folder.problem()


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("empty", b" \n", "it is empty"),
        ("front", b"---\na: b\n---\n", "it is empty"),
        ("large", b"x" * (LARGEST + 1), "it is larger than 32 KB"),
        ("bytes", b"\xff\xfe", "it is not UTF-8"),
        ("1st", b"One.", "a command's name begins with a letter"),
    ],
)
def test_a_file_that_cannot_be_one_costs_itself(folder: Folder, name: str, data: bytes, told: str) -> None:
    write(folder.user / f"{name}.md", data)
    assert f"{name}.md is ignored: {told}" in folder.problem()
