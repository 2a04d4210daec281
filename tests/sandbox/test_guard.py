"""Protected paths that no confinement holds are put back after a command."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_chat.sandbox.guard import Guard

NAMES = (".git/hooks", ".git/config", ".agent-chat")


@pytest.fixture
def root(workspace: Path) -> Path:
    (workspace / ".git" / "hooks").mkdir(parents=True)
    (workspace / ".git" / "hooks" / "pre-commit").write_text("good")
    (workspace / ".git" / "hooks" / "pre-commit").chmod(0o755)
    (workspace / ".git" / "hooks" / "link").symlink_to("pre-commit")
    (workspace / ".git" / "config").write_text("[core]\n")
    return workspace


def picture(folder: Path) -> dict[str, tuple[int, str]]:
    """Every path below, with its mode and what it holds."""
    return {
        path.relative_to(folder).as_posix(): (
            path.lstat().st_mode,
            os.readlink(path) if path.is_symlink() else path.read_text() if path.is_file() else "",
        )
        for path in folder.rglob("*")
    }


def replace_config(root: Path) -> None:
    (root / ".git/config").rename(root / "x")
    (root / ".git/config").write_text("[core]\n\tfsmonitor = evil\n")
    (root / "x").unlink()


def same_size_and_time(root: Path) -> None:
    file = root / ".git/hooks/pre-commit"
    times = (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    file.write_text("evil")
    os.utime(file, ns=times)


Change = Callable[[Path], object]

CHANGES: list[tuple[Change, tuple[str, ...]]] = [
    (lambda root: (root / ".git/hooks/pre-commit").write_text("evil"), (".git/hooks",)),
    (lambda root: (root / ".git/hooks/post-commit").write_text("evil"), (".git/hooks",)),
    (lambda root: (root / ".git/hooks/pre-commit").unlink(), (".git/hooks",)),
    (lambda root: (root / ".git/hooks/pre-commit").chmod(0o644), (".git/hooks",)),
    (lambda root: shutil.rmtree(root / ".git/hooks"), (".git/hooks",)),
    (lambda root: (root / ".git/hooks/a/b").mkdir(parents=True), (".git/hooks",)),
    (replace_config, (".git/config",)),
    (same_size_and_time, (".git/hooks",)),
    (lambda root: (root / ".agent-chat/tools").mkdir(parents=True), (".agent-chat",)),
    (lambda root: (root / ".agent-chat").symlink_to("/tmp"), (".agent-chat",)),
]


@pytest.mark.parametrize(("change", "names"), CHANGES)
def test_a_change_is_undone_and_named(change: Change, names: tuple[str, ...], root: Path) -> None:
    before = picture(root)
    guard = Guard(root, NAMES)
    change(root)
    assert picture(root) != before
    assert guard.restore() == names
    assert picture(root) == before


def test_what_has_not_changed_is_left_alone(root: Path) -> None:
    guard = Guard(root, NAMES)
    times = [path.lstat().st_mtime_ns for path in root.rglob("*")]
    assert guard.restore() == ()
    assert [path.lstat().st_mtime_ns for path in root.rglob("*")] == times


def test_what_is_put_back_does_not_go_where_a_link_leads(root: Path, home: Path) -> None:
    """The folder above was swapped for a link: through it our own process would write, and remove, there."""
    (home / "hooks").mkdir()
    (home / "hooks" / "precious").write_text("keep")
    guard = Guard(root, NAMES)
    shutil.move(root / ".git", root / "moved")
    (root / ".git").symlink_to(home)
    assert guard.restore() == (".git/hooks", ".git/config")
    assert picture(home) == {
        "hooks": ((home / "hooks").stat().st_mode, ""),
        "hooks/precious": ((home / "hooks" / "precious").stat().st_mode, "keep"),
    }
    assert not (root / ".git").is_symlink()
    assert (root / ".git/hooks/pre-commit").read_text() == "good"
    assert (root / ".git/config").read_text() == "[core]\n"
