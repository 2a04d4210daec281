"""A place to configure: a user's folder, a working folder, and the loader that reads them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_chat.cli.load_settings import Loaded, Options, load_settings
from agent_chat.core.errors import UserError


@dataclass(frozen=True)
class Place:
    """Where settings come from in a test; nothing of the machine's own is read."""

    config_home: Path
    cwd: Path

    @property
    def user_file(self) -> Path:
        return self.config_home / "agent-chat" / "config.yaml"

    @property
    def project_file(self) -> Path:
        return self.cwd / ".agent-chat" / "config.yaml"

    def user(self, text: str | bytes) -> None:
        write(self.user_file, text)

    def project(self, text: str | bytes, *, trusted: bool = True) -> None:
        write(self.project_file, text)
        if trusted:
            write(self.config_home / "agent-chat" / "trusted_folders", f"{self.cwd.resolve()}\n")

    def load(self, options: Options | None = None, **environ: str) -> Loaded:
        return load_settings(options, {"XDG_CONFIG_HOME": str(self.config_home), **environ}, self.cwd)

    def refused(self, options: Options | None = None, **environ: str) -> str:
        """The message with which loading fails."""
        with pytest.raises(UserError) as caught:
            self.load(options, **environ)
        return caught.value.message


def write(path: Path, text: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    cwd = tmp_path / "work"
    cwd.mkdir()
    return Place(tmp_path / "config", cwd)
