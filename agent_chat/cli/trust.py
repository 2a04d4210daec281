"""Which folders may configure us: the user names them, one by one, and nobody else can."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from agent_chat.core.errors import UserError

PROJECT_FILE = Path(".agent-chat") / "config.yaml"


class NoHome(Exception):
    """There is no folder for the user's configuration; the text says why."""


def user_config_folder(environ: Mapping[str, str]) -> Path:
    """The folder of this user's configuration, as an absolute path; it need not exist. Raises NoHome."""
    chosen = environ.get("XDG_CONFIG_HOME", "")
    if os.path.isabs(chosen):
        return Path(chosen) / "agent-chat"
    from platformdirs import user_config_path

    try:
        path = user_config_path("agent-chat", appauthor=False)
    except (RuntimeError, OSError) as error:
        raise NoHome(str(error)) from error
    if not path.is_absolute():
        raise NoHome("there is no home folder")
    return path


def find_project(
    cwd: Path, holding: Path = PROJECT_FILE, is_there: Callable[[Path], bool] = os.path.isfile
) -> Path | None:
    """The nearest folder from `cwd` upwards with a project configuration, up to its repository's root.

    `holding` and `is_there` tell one that has something else. Outside of a repository only `cwd` counts.
    """
    folders = [cwd, *cwd.parents]
    # os.path and not Path: a folder that we may not look into holds nothing for us, and is no failure.
    root = next((index for index, folder in enumerate(folders) if os.path.exists(folder / ".git")), 0)
    for folder in folders[: root + 1]:
        if is_there(folder / holding):
            return folder
    return None


class TrustedFolders:
    """The user's list of trusted folders: a text file, one absolute path a line, `#` begins a comment."""

    def __init__(self, config_folder: Path) -> None:
        self.path = config_folder / "trusted_folders"

    def contains(self, folder: Path) -> bool:
        """Whether exactly this folder is trusted. What cannot be read trusts nothing."""
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError):
            return False
        return _real(folder) in (line.strip() for line in lines if not line.startswith("#"))

    def add(self, folder: Path) -> bool:
        """Trusts a folder; False where it was trusted already. Raises UserError."""
        if self.contains(folder):
            return False
        if "\n" in _real(folder):
            raise UserError("A folder with a line break in its name cannot be trusted.", hint="Rename it.")
        self._write([*self._lines(), _real(folder)])
        return True

    def remove(self, folder: Path) -> bool:
        """Trusts a folder no longer; False where it was not trusted. Raises UserError."""
        if not self.contains(folder):
            return False
        self._write([line for line in self._lines() if line.strip() != _real(folder)])
        return True

    def _lines(self) -> list[str]:
        try:
            return self.path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            raise UserError(
                f"{self.path} cannot be read: {error}", hint="Mend or remove it, then try again."
            ) from error

    def _write(self, lines: list[str]) -> None:
        # Whole or not at all: a half-written list would trust other folders than the user named.
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(
                "w", encoding="utf-8", dir=self.path.parent, prefix=".trusted_folders.", delete=False
            ) as file:
                file.writelines(f"{line}\n" for line in lines)
            os.replace(file.name, self.path)
        except OSError as error:
            raise UserError(
                f"{self.path} cannot be written: {error.strerror or error}",
                hint="Make the folder writable, or name the file yourself with --config.",
            ) from error


def _real(folder: Path) -> str:
    return os.path.realpath(folder)
