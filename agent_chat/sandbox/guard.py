"""Protected paths that the confinement cannot hold: looked at before a command, put back after it.

Landlock has no exceptions inside what may be written, and no mount can hold what is not there yet.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LARGEST_KEPT = 4_000_000
"""Bytes of the files whose content is kept; more than that is compared, but cannot be put back."""


@dataclass(frozen=True, slots=True)
class _Entry:
    mode: int
    mark: tuple[int, ...]
    """What changes when the content does."""
    content: bytes | None
    """Of a file, or where a link points; None for folders and where there was no room."""


Entries = dict[str, _Entry]


class Guard:
    """The state of some paths at one moment."""

    def __init__(self, root: Path, names: Iterable[str]) -> None:
        self._root = root
        self._before = {name: _entries(root, name) for name in names}

    def restore(self) -> tuple[str, ...]:
        """Puts back what has changed since; gives the names."""
        changed: list[str] = []
        for name, before in self._before.items():
            after = _entries(self._root, name)
            if _facts(after) != _facts(before):
                changed.append(name)
                with suppress(OSError):
                    _make_way(self._root, name)
                    _put_back(self._root / name, before, after)
        return tuple(changed)


def _facts(entries: Entries) -> dict[str, tuple[int, tuple[int, ...] | bytes]]:
    return {
        name: (entry.mode, entry.mark if entry.content is None else entry.content)
        for name, entry in entries.items()
    }


def _entries(root: Path, path: str) -> Entries:
    """By path relative to this one; no link is followed, nor is one on the way."""
    entries: Entries = {}
    if any(not _is_folder(folder) for folder in _above(root, path)):
        return entries
    room = LARGEST_KEPT
    waiting = [("", root / path)]
    while waiting:
        name, current = waiting.pop()
        try:
            status = current.lstat()
            mode = status.st_mode
            content: bytes | None = None
            mark: tuple[int, ...] = ()
            if stat.S_ISDIR(mode):
                waiting += [(os.path.join(name, child.name), child) for child in current.iterdir()]
            elif stat.S_ISLNK(mode):
                content = os.fsencode(os.readlink(current))
            else:
                mark = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
                if stat.S_ISREG(mode) and status.st_size <= room:
                    content = current.read_bytes()
                    room -= len(content)
        except OSError:
            continue
        entries[name] = _Entry(mode, mark, content)
    return entries


def _above(root: Path, name: str) -> list[Path]:
    """The folders between the root and a path, outermost first."""
    return [root / parent for parent in reversed(Path(name).parents) if parent != Path()]


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _make_way(root: Path, name: str) -> None:
    """Real folders on the way to a path: what is put back must not go where a link leads."""
    for folder in _above(root, name):
        if not _is_folder(folder):
            folder.unlink(missing_ok=True)
            folder.mkdir()


def _put_back(path: Path, before: Entries, after: Entries) -> None:
    for name in sorted(after.keys() - before.keys(), key=len, reverse=True):
        _remove(path / name)
    for name, entry in sorted(before.items()):
        target = path / name
        if name in after and after[name] == entry:
            continue
        if stat.S_ISDIR(entry.mode):
            if not (name in after and stat.S_ISDIR(after[name].mode)):
                _remove(target)
                target.mkdir()
            target.chmod(stat.S_IMODE(entry.mode))
        elif entry.content is not None:
            _remove(target)
            if stat.S_ISLNK(entry.mode):
                target.symlink_to(os.fsdecode(entry.content))
            else:
                target.write_bytes(entry.content)
                target.chmod(stat.S_IMODE(entry.mode))


def _remove(path: Path) -> None:
    if _is_folder(path):
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
