"""What of a workspace runs outside the sandbox later, and what git needs from around it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

PROTECTED = (".agent-chat", ".mcp.json")
"""Our own settings, tools and servers."""

OF_GIT = ("hooks", "config", "config.worktree", "modules")
"""Git runs its hooks, and what its configuration and that of its submodules name, whoever asks it."""

_HOOKS_PATH = re.compile(r"^\s*hookspath\s*=\s*\"?([^\"#;\n]+)", re.IGNORECASE | re.MULTILINE)
_GITDIR = re.compile(r"gitdir: (.+)")
LARGEST = 1_000_000
"""Bytes of a configuration that is read."""


def protected(workspace: Path) -> tuple[str, ...]:
    """Paths relative to the workspace, whether they exist or not."""
    git = workspace / ".git"
    if not git.is_dir():
        # A file that points to the repository, or nothing: a command may make a repository of its own.
        return (*PROTECTED, ".git") if git.is_file() else PROTECTED
    names = [*PROTECTED, *(f".git/{name}" for name in OF_GIT)]
    for found in _HOOKS_PATH.findall(_read(git / "config")):
        hooks = Path(os.path.normpath(workspace / Path(found.strip()).expanduser()))
        if hooks != workspace and hooks.is_relative_to(workspace):
            names.append(hooks.relative_to(workspace).as_posix())
    return tuple(dict.fromkeys(names))


def readable_repository(workspace: Path) -> Iterator[Path]:
    """The repository that the workspace is a part or a worktree of, so that git can look at it."""
    git = workspace / ".git"
    if git.is_file():
        yield from _of_worktree(git)
    elif not git.exists():
        yield from (parent for parent in workspace.parents if (parent / ".git").is_dir())


def _of_worktree(git: Path) -> Iterator[Path]:
    """Believed only when the repository points back: the file itself could name any folder."""
    match = _GITDIR.match(_read(git))
    if match is None:
        return
    gitdir = (git.parent / match.group(1).strip()).resolve()
    if gitdir.parent.name == "worktrees" and Path(_read(gitdir / "gitdir").strip()).resolve() == git:
        yield gitdir.parent.parent


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""
