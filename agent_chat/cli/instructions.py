"""What `AGENTS.md` files tell the model: the user's, and those from the repository root to the workspace."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_chat.cli.trust import NoHome, TrustedFolders, user_config_folder
from agent_chat.ui.sanitize import one_line

USER_NAME = "AGENTS.md"
NAMES = (USER_NAME, "CLAUDE.md")
"""Of a folder that has both, the first counts."""
LARGEST = 32 * 1024
"""Bytes of a file that count."""
EMBEDDED_LIMIT = 2_000
"""Characters of all files together for an embedded model: there every word takes time."""
CUT = "[The rest of this file was cut.]"


@dataclass(frozen=True, slots=True)
class Instructions:
    """What one file tells."""

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """The files that count, the nearest last, and what is to be said of others, a line each."""

    files: tuple[Instructions, ...] = ()
    problems: tuple[str, ...] = ()

    def appended_to(self, system: str, *, embedded: bool = False) -> str:
        """The system prompt with the files behind it, each marked with its path."""
        files = _shortened(self.files) if embedded else self.files
        parts = [f"Instructions from {one_line(str(file.path))}:\n\n{file.text}" for file in files]
        return "\n\n".join([system, *parts] if system else parts)


def find_instructions(workspace: Path, environ: Mapping[str, str]) -> Found:
    """Reads the files of the user and of trusted folders. What is wrong with one costs that one.

    `workspace`: absolute and resolved. Outside of a repository only its own file counts.
    """
    try:
        config_folder = user_config_folder(environ)
    except NoHome:
        return Found()
    trusted = TrustedFolders(config_folder)
    files: list[Instructions] = []
    problems: list[str] = []
    own = config_folder / USER_NAME
    if os.path.isfile(own):
        _read(own, files, problems)
    folders = _folders(workspace)
    for path in _present(folders):
        if not trusted.contains(path.parent):
            problems.append(
                f"{path} is ignored: you have not trusted this folder. Read it, then run"
                f" `agent-chat config trust {shlex.quote(str(path.parent))}`"
            )
        elif not path.resolve().is_relative_to(folders[0]):
            problems.append(f"{path} is ignored: it leads out of {folders[0]}")
        elif path != own:
            _read(path, files, problems)
    return Found(tuple(files), tuple(problems))


def _folders(workspace: Path) -> list[Path]:
    """From the repository's root to the workspace."""
    folders = [workspace, *workspace.parents]
    root = next((index for index, folder in enumerate(folders) if os.path.exists(folder / ".git")), 0)
    return folders[root::-1]


def _present(folders: list[Path]) -> Iterator[Path]:
    for folder in folders:
        # os.path and not Path: a folder that we may not look into holds nothing for us.
        found = next((name for name in NAMES if os.path.isfile(folder / name)), None)
        if found is not None:
            yield folder / found


def _read(path: Path, files: list[Instructions], problems: list[str]) -> None:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        problems.append(f"{path} is ignored: {error.strerror or error}")
        return
    if len(data) > LARGEST:
        problems.append(f"{path} is larger than {LARGEST // 1024} KB: the model is told its beginning only")
        # The last character may be torn.
        text = f"{data[:LARGEST].decode('utf-8', errors='ignore').strip()}\n{CUT}"
    else:
        text = data.decode("utf-8", errors="replace").strip()
    if text := text.removeprefix("\ufeff"):
        files.append(Instructions(path, text))


def _shortened(files: tuple[Instructions, ...]) -> tuple[Instructions, ...]:
    """What fits an embedded model: the nearest first, as it knows most of the work at hand."""
    kept: list[Instructions] = []
    left = EMBEDDED_LIMIT
    for file in reversed(files):
        if left <= 0:
            break
        whole = len(file.text) <= left
        kept.append(file if whole else Instructions(file.path, f"{file.text[:left]}\n{CUT}"))
        left -= len(file.text)
    return tuple(reversed(kept))
