"""Whole tool results, each kept once under an id that follows from its content."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable

from agent_chat.core.ports import ResultStore
from agent_chat.core.text import storable
from agent_chat.sessions.connection import reason_of
from agent_chat.sessions.database import Database

_ID_LENGTHS = (12, 24, 64)
"""Characters of an id: the shortest that no other text has."""


class MemoryResults:
    """A `ResultStore` that ends with the process."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def put(self, text: str) -> str:
        text = storable(text)
        digest = hashlib.sha256(text.encode()).hexdigest()
        for length in _ID_LENGTHS:
            if self._texts.setdefault(digest[:length], text) == text:
                return digest[:length]
        return digest

    def get(self, result_id: str) -> str | None:
        return self._texts.get(result_id)


class OverlaidResults:
    """A `ResultStore` that reads from another one and writes to memory."""

    def __init__(self, below: ResultStore) -> None:
        self._below = below
        self._memory = MemoryResults()

    def put(self, text: str) -> str:
        return self._memory.put(text)

    def get(self, result_id: str) -> str | None:
        found = self._memory.get(result_id)
        return self._below.get(result_id) if found is None else found


class StoredResults:
    """A `ResultStore` in the session database. Once it cannot be written, memory takes its place."""

    def __init__(self, database: Database, on_problem: Callable[[str], None]) -> None:
        self._database = database
        self._on_problem = on_problem
        self._memory: MemoryResults | None = None

    def put(self, text: str) -> str:
        if self._memory is not None:
            return self._memory.put(text)
        text = storable(text)
        digest = hashlib.sha256(text.encode())
        try:
            return self._store(text, digest.digest(), digest.hexdigest())
        except Exception as error:  # whatever it is, the session goes on
            self._on_problem(f"Long tool results are not saved: {self._database.path}: {reason_of(error)}.")
            self._memory = MemoryResults()
            return self._memory.put(text)

    def get(self, result_id: str) -> str | None:
        if self._memory is not None and (text := self._memory.get(result_id)) is not None:
            return text
        try:
            with self._database.lock:
                row = self._database.connection.execute(
                    "SELECT body FROM results WHERE id = ?", (storable(result_id),)
                ).fetchone()
        except Exception:  # as good as not there
            return None
        return str(row[0]) if row else None

    def _store(self, text: str, digest: bytes, name: str) -> str:
        with self._database.transaction() as connection:
            for length in _ID_LENGTHS:
                result_id = name[:length]
                found = connection.execute("SELECT sha256 FROM results WHERE id = ?", (result_id,)).fetchone()
                if found is None:
                    connection.execute(
                        "INSERT INTO results (id, sha256, created, body) VALUES (?, ?, ?, ?)",
                        (result_id, digest, time.time(), text),
                    )
                    return result_id
                if found[0] == digest:
                    return result_id
        return name
