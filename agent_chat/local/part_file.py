"""A file that is being put together: it can be left at any moment and taken up again later."""

import asyncio
import hashlib
import os
from pathlib import Path
from types import TracebackType
from typing import Self

CHUNK = 1024 * 1024
"""Bytes handled between two looks at the event loop."""


class PartFile:
    """The file at `path` while it is incomplete. An async context manager; closing keeps what is there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._hash = hashlib.sha256()
        self.size = 0
        """Bytes that are there and hashed."""

    async def __aenter__(self) -> Self:
        """Raises OSError."""
        self._file = self._path.open("r+b" if self._path.exists() else "x+b")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    async def resume(self, size: int | None = None) -> None:
        """Keep the first `size` bytes (None: all that is there) and go on after them. Raises OSError."""
        there = self._file.seek(0, os.SEEK_END)
        keep = min(there, there if size is None else size)
        self._file.truncate(keep)
        self._file.seek(0)
        self._hash = hashlib.sha256()
        self.size = 0
        while self.size < keep:
            self._count(self._file.read(CHUNK))
            await asyncio.sleep(0)

    def write(self, data: bytes) -> None:
        """Append. Raises OSError."""
        self._file.write(data)
        self._count(data)

    def flush(self) -> None:
        """Bring what was written to the disk. Raises OSError."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def sha256(self) -> str:
        return self._hash.hexdigest()

    def _count(self, data: bytes) -> None:
        self._hash.update(data)
        self.size += len(data)
