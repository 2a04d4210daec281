"""Where sessions are kept, when there is such a place."""

from __future__ import annotations

import os
from pathlib import Path

OVERRIDE = "AGENT_CHAT_STATE_DIR"
"""The environment variable that names another folder."""


class NoFolder(Exception):
    """There is no folder to keep sessions in; the text says why."""


def state_folder() -> Path:
    """The folder of this user's sessions, as an absolute path; it need not exist. Raises NoFolder."""
    if chosen := os.environ.get(OVERRIDE, "").strip():
        return Path(os.path.abspath(chosen))
    from platformdirs import user_state_path

    try:
        path = user_state_path("agent-chat", appauthor=False)
    except (RuntimeError, OSError) as error:
        raise NoFolder(str(error)) from error
    if not path.is_absolute():
        # A `~` that stays as it is: there is no home, and a folder of that name here helps nobody.
        raise NoFolder(f"there is no home folder; set {OVERRIDE} to a folder to use")
    return path


def create_private(folder: Path) -> None:
    """Makes a folder that only its owner can read. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def touch_private(path: Path) -> None:
    """Makes an empty file that only its owner can read, unless there is one. Raises OSError."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
