"""The files of a folder in a fixed order, without what Git ignores.

Read by the search process as well: it imports nothing heavy, and `pathspec` only where there is a pattern.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

NEVER_ENTERED = frozenset({".git", ".hg", ".svn"})
MAX_IGNORE_FILE = 256 * 1024
"""Bytes of a `.gitignore` that are read."""

_Rules = tuple[tuple[str, "GitIgnoreSpec"], ...]
"""Ignore files from the root down: the folder of each, relative to the root (`""` or `a/b/`)."""


@dataclass(frozen=True, slots=True)
class Entry:
    path: str
    """Relative to the root, with forward slashes."""
    folder: bool
    link: bool

    @property
    def shown(self) -> str:
        return f"{self.path}/" if self.folder else self.path


def walk(root: Path, start: Path, *, deep: bool = True) -> Iterator[Entry]:
    """What is in `start`, a folder in `root`: each folder before what is in it, by name.

    Links are listed and not followed; version control's folders and what the `.gitignore` files from the
    root down exclude are left out. What cannot be read is left out.
    """
    above = start.relative_to(root)
    rules: _Rules = ()
    for parent in [*reversed(above.parents), above] if above.parts else [above]:
        rules = _with_rules(root, _prefix(parent), rules)
    stack = [_entries(root, _prefix(above), rules)]
    folders: list[_Rules] = [rules]
    while stack:
        entry = next(stack[-1], None)
        if entry is None:
            stack.pop()
            folders.pop()
            continue
        yield entry
        if deep and entry.folder and not entry.link:
            inner = f"{entry.path}/"
            below = _with_rules(root, inner, folders[-1])
            stack.append(_entries(root, inner, below))
            folders.append(below)


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a relative path matches a glob, or does not where it begins with `!`.

    One without a slash matches names at any depth.
    """
    from pathspec import GitIgnoreSpec

    glob = pattern.removeprefix("!").removeprefix("./")
    matches = GitIgnoreSpec.from_lines([f"\\{glob}" if glob.startswith("#") else glob]).match_file
    return (lambda path: not matches(path)) if pattern.startswith("!") else matches


def _prefix(folder: Path) -> str:
    return f"{folder.as_posix()}/" if folder.parts else ""


def _entries(root: Path, prefix: str, rules: _Rules) -> Iterator[Entry]:
    try:
        with os.scandir(root / prefix) as found:
            children = sorted(found, key=lambda child: child.name)
    except OSError:
        return
    for child in children:
        if child.name in NEVER_ENTERED:
            continue
        try:
            entry = Entry(prefix + child.name, child.is_dir(), child.is_symlink())
        except OSError:
            continue
        if not _is_ignored(entry, rules):
            yield entry


def _is_ignored(entry: Entry, rules: _Rules) -> bool:
    for folder, spec in reversed(rules):
        verdict = spec.check_file(entry.shown.removeprefix(folder)).include
        if verdict is not None:
            return verdict
    return False


def _with_rules(root: Path, prefix: str, rules: _Rules) -> _Rules:
    path = root / prefix / ".gitignore"
    if path.is_symlink() or not path.is_file():
        return rules
    try:
        with path.open("rb") as file:
            text = file.read(MAX_IGNORE_FILE).decode("utf-8", "replace")
    except OSError:
        return rules
    from pathspec import GitIgnoreSpec

    return (*rules, (prefix, GitIgnoreSpec.from_lines(text.splitlines())))
