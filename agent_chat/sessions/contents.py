"""What files held before tools changed them, each content kept once under its SHA-256."""

from __future__ import annotations

import hashlib
import time
import zlib
from collections.abc import Callable

from agent_chat.core.ports import ContentStore
from agent_chat.sessions.connection import reason_of
from agent_chat.sessions.database import Database


class MemoryContents:
    """A `ContentStore` that ends with the process."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}

    def put(self, content: bytes) -> str:
        name = hashlib.sha256(content).hexdigest()
        self._contents[name] = content
        return name

    def get(self, content_id: str) -> bytes | None:
        return self._contents.get(content_id)


class OverlaidContents:
    """A `ContentStore` that reads from another one and writes to memory."""

    def __init__(self, below: ContentStore) -> None:
        self._below = below
        self._memory = MemoryContents()

    def put(self, content: bytes) -> str:
        return self._memory.put(content)

    def get(self, content_id: str) -> bytes | None:
        found = self._memory.get(content_id)
        return self._below.get(content_id) if found is None else found


class StoredContents:
    """A `ContentStore` in the session database. What cannot be written there is kept in memory."""

    def __init__(self, database: Database, on_problem: Callable[[str], None]) -> None:
        self._database = database
        self._on_problem = on_problem
        self._memory = MemoryContents()
        self._told = False

    def put(self, content: bytes) -> str:
        name = hashlib.sha256(content).hexdigest()
        row = (name, time.time(), zlib.compress(content, 1))
        try:
            with self._database.lock:
                self._database.connection.execute(
                    "INSERT OR IGNORE INTO contents (id, created, body) VALUES (?, ?, ?)", row
                )
        except Exception as error:  # whatever it is, the session goes on
            self._memory.put(content)
            self._tell(error)
        return name

    def get(self, content_id: str) -> bytes | None:
        if (content := self._memory.get(content_id)) is not None:
            return content
        try:
            with self._database.lock:
                row = self._database.connection.execute(
                    "SELECT body FROM contents WHERE id = ?", (content_id,)
                ).fetchone()
            content = zlib.decompress(row[0]) if row else None
        except Exception:  # as good as not there
            return None
        # A damaged content must not take the place of a sound file.
        if content is None or hashlib.sha256(content).hexdigest() != content_id:
            return None
        return content

    def _tell(self, error: Exception) -> None:
        if not self._told:
            self._told = True
            self._on_problem(
                f"Changes of files can be undone only while the program runs: {self._database.path}: "
                f"{reason_of(error)}."
            )
