"""Which instruction files count, in which order, and what is said of the others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from cli.conftest import write

from agent_chat.cli.instructions import CUT, EMBEDDED_LIMIT, LARGEST, Found, find_instructions


@dataclass(frozen=True)
class Tree:
    """A repository with a workspace inside, and a user."""

    config: Path
    root: Path
    workspace: Path

    def trust(self, *folders: Path) -> None:
        write(self.config / "agent-chat" / "trusted_folders", "".join(f"{folder}\n" for folder in folders))

    def find(self) -> Found:
        return find_instructions(self.workspace, {"XDG_CONFIG_HOME": str(self.config)})

    def texts(self) -> list[str]:
        return [file.text for file in self.find().files]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    root = tmp_path.resolve() / "repository"
    workspace = root / "packages" / "one"
    workspace.mkdir(parents=True)
    (root / ".git").mkdir()
    found = Tree(tmp_path.resolve() / "config", root, workspace)
    found.trust(root, workspace)
    return found


def test_the_users_come_first_and_the_nearest_last(tree: Tree) -> None:
    write(tree.workspace / "AGENTS.md", "Near.\n")
    write(tree.root / "AGENTS.md", "\ufeffRoot.\n")
    write(tree.config / "agent-chat" / "AGENTS.md", "Mine.\n")
    write(tree.root.parent / "AGENTS.md", "Outside.\n")
    assert tree.texts() == ["Mine.", "Root.", "Near."]
    assert tree.find().problems == ()
    assert tree.find().appended_to("You help.") == (
        f"You help.\n\nInstructions from {tree.config / 'agent-chat' / 'AGENTS.md'}:\n\nMine."
        f"\n\nInstructions from {tree.root / 'AGENTS.md'}:\n\nRoot."
        f"\n\nInstructions from {tree.workspace / 'AGENTS.md'}:\n\nNear."
    )


def test_nothing_is_appended_where_there_is_nothing(tree: Tree) -> None:
    write(tree.root / "AGENTS.md", " \n")
    assert tree.find() == Found()
    assert tree.find().appended_to("You help.") == "You help."


def test_the_other_name_counts_where_a_folder_has_no_first(tree: Tree) -> None:
    write(tree.root / "CLAUDE.md", "Root, other.")
    write(tree.workspace / "CLAUDE.md", "Near, other.")
    write(tree.workspace / "AGENTS.md", "Near.")
    assert tree.texts() == ["Root, other.", "Near."]


def test_a_folder_that_is_not_trusted_costs_its_own_file(tree: Tree) -> None:
    tree.trust(tree.root)
    write(tree.root / "AGENTS.md", "Root.")
    write(tree.workspace / "AGENTS.md", "Near.")
    assert tree.texts() == ["Root."]
    [problem] = tree.find().problems
    assert problem.startswith(f"{tree.workspace / 'AGENTS.md'} is ignored: you have not trusted")
    assert problem.endswith(f"`agent-chat config trust {tree.workspace}`")


def test_outside_of_a_repository_only_the_workspaces_counts(tree: Tree) -> None:
    (tree.root / ".git").rmdir()
    write(tree.root / "AGENTS.md", "Root.")
    write(tree.workspace / "AGENTS.md", "Near.")
    assert tree.texts() == ["Near."]


def test_a_large_file_is_cut_and_that_is_told(tree: Tree) -> None:
    write(tree.root / "AGENTS.md", "x" + "é" * LARGEST)
    [text] = tree.texts()
    assert text == "x" + "é" * ((LARGEST - 1) // 2) + f"\n{CUT}"
    [problem] = tree.find().problems
    assert "AGENTS.md is larger than 32 KB" in problem


def test_a_link_that_leads_out_is_not_followed(tree: Tree) -> None:
    secret = tree.root.parent / "secret"
    write(secret, "key")
    (tree.root / "AGENTS.md").symlink_to(secret)
    assert tree.texts() == []
    [problem] = tree.find().problems
    assert "it leads out of" in problem


def test_an_embedded_model_is_told_the_nearest_above_all(tree: Tree) -> None:
    write(tree.config / "agent-chat" / "AGENTS.md", "Mine.")
    write(tree.root / "AGENTS.md", "r" * EMBEDDED_LIMIT)
    write(tree.workspace / "AGENTS.md", "n" * 500)
    told = tree.find().appended_to("", embedded=True)
    assert "Mine." not in told
    assert f"\n{'r' * 1500}\n{CUT}\n" in told
    assert told.endswith("n" * 500)
