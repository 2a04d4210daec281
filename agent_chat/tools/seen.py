"""What the model knows of files: the content that each had when a tool last read or wrote it."""

from __future__ import annotations

import hashlib
from pathlib import Path

MAX_SIZE = 10 * 1024 * 1024
"""Bytes of a file that tools may change: its previous content is kept whole."""


def digest(content: bytes) -> str:
    """The SHA-256 in hexadecimal, which is also the id of a kept content."""
    return hashlib.sha256(content).hexdigest()


class SeenFiles:
    """Lives as long as its process; after that a file must be read again before it is overwritten."""

    def __init__(self) -> None:
        self._digests: dict[Path, str] = {}

    def remember(self, path: Path, content: bytes) -> None:
        """`path`: resolved."""
        self._digests[path] = digest(content)

    def get(self, path: Path) -> str | None:
        """The digest of what was last seen; None where it never was."""
        return self._digests.get(path)
