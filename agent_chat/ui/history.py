"""The messages that were typed before, for Up and Ctrl-R: a private file, or none where it cannot be."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit.history import History

KEPT = 1_000
"""Messages that are loaded."""
READ = 1_000_000
"""Bytes from the end of the file that are looked at."""


class PrivateHistory(History):
    """One JSON string a line. A file that cannot be read or written is as good as none."""

    def __init__(self, path: Path | None) -> None:
        super().__init__()
        self._path = path

    def load_history_strings(self) -> Iterable[str]:
        """The latest first."""
        if self._path is None:
            return
        try:
            with self._path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - READ))
                lines = file.read().splitlines()
        except OSError:
            return
        for line in reversed(lines[-KEPT:]):
            try:
                text = json.loads(line)
            except ValueError:
                continue
            if isinstance(text, str):
                yield text

    def store_string(self, string: str) -> None:
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(file, f"{json.dumps(string)}\n".encode())
            finally:
                os.close(file)
        except OSError:
            self._path = None
