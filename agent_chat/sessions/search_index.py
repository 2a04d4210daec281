"""An index of the words of all sessions, in a file of its own beside their database.

It holds nothing that the log does not: it may be missing, behind, or thrown away at any time, and never
holds up who writes to the log.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agent_chat.sessions.connection import connect, is_damage, reason_of
from agent_chat.sessions.folder import touch_private
from agent_chat.sessions.rows import event_range, event_seq

FILE_NAME = "search.db"
_VERSION = 1
_PATIENCE = 0.5
"""Seconds to wait for other processes; without the index a search is slower, and as good."""

_RUN = 3
"""Characters of what the index is asked for; shorter words are looked for in every text."""
_MOST_RUNS = 24

Mark = tuple[str, int]
"""The id of a session, and the seq up to which it is in the index."""


class IndexUnusable(Exception):
    """The index cannot be used now. A search does without it."""


class SearchIndex:
    """Every method raises IndexUnusable; a damaged file is removed then."""

    def __init__(self, path: Path) -> None:
        """Makes the file where there is none."""
        self._path = path
        with self._guarded():
            self._connection = _open(path)

    def marks(self) -> dict[int, Mark]:
        """How far every session is in the index, by the number of its row."""
        with self._guarded():
            found = self._connection.execute("SELECT number, id, seq FROM marks")
            return {number: (session_id, seq) for number, session_id, seq in found}

    def add(self, number: int, session_id: str, texts: Iterable[tuple[int, str]], upto: int) -> None:
        """`texts`: folded, by the id of their event. `upto`: the seq of the last event that was looked at."""
        with self._transaction() as connection:
            known = connection.execute("SELECT seq FROM marks WHERE number = ?", (number,)).fetchone()
            after = known[0] if known else 0
            # Another process may have been here first.
            new = [(event, text) for event, text in texts if event_seq(event) > after]
            connection.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", new)
            connection.execute(
                "INSERT OR REPLACE INTO marks (number, id, seq) VALUES (?, ?, ?)",
                (number, session_id, max(after, upto)),
            )

    def forget(self, numbers: Iterable[int]) -> None:
        """Takes sessions out again."""
        with self._transaction() as connection:
            for number in numbers:
                connection.execute("DELETE FROM texts WHERE rowid BETWEEN ? AND ?", event_range(number))
                connection.execute("DELETE FROM marks WHERE number = ?", (number,))

    def shrink(self) -> None:
        """Leaves nothing of what was taken out in the file."""
        with self._guarded():
            self._connection.execute("INSERT INTO texts (texts) VALUES ('optimize')")
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def find(self, words: Iterable[str]) -> Iterator[int]:
        """The ids of the events that hold every one of these folded words, the latest first."""
        words = tuple(words)
        conditions = ["instr(text, ?)"] * len(words)
        values = [*words]
        if runs := [*_runs(words)]:
            conditions.insert(0, "texts MATCH ?")
            values.insert(0, " AND ".join(runs))
        query = f"SELECT rowid FROM texts WHERE {' AND '.join(conditions)} ORDER BY rowid DESC"
        with self._guarded():
            for (event,) in self._connection.execute(query, values):
                yield event

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        with self._guarded(), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            yield self._connection

    @contextmanager
    def _guarded(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if is_damage(error):
                with suppress(OSError):  # somebody else has it open
                    discard(self._path)
            raise IndexUnusable(reason_of(error)) from error
        except OSError as error:
            raise IndexUnusable(reason_of(error)) from error


def _runs(words: Iterable[str]) -> Iterator[str]:
    """What texts with these words hold, in the language of the index."""
    for word in words:
        starts = range(len(word) - _RUN + 1)
        for start in starts[:: len(starts) // _MOST_RUNS + 1]:
            yield '"' + word[start : start + _RUN].replace('"', '""') + '"'


def discard(path: Path) -> None:
    """Removes an index; nothing is lost. Raises OSError."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _open(path: Path) -> sqlite3.Connection:
    """Raises OSError and sqlite3.Error, also where this SQLite has no index of this kind."""
    touch_private(path)
    connection = connect(path, "mode=rw", timeout=_PATIENCE)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA secure_delete = ON")
        if connection.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
            _set_up(connection)
        connection.execute("SELECT 1 FROM texts LIMIT 1")
    except BaseException:
        connection.close()
        raise
    return connection


def _set_up(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("PRAGMA user_version").fetchone()[0] == _VERSION:
            return  # another process was faster
        connection.execute("DROP TABLE IF EXISTS texts")
        connection.execute("DROP TABLE IF EXISTS marks")
        # Runs of three characters find words in every script, also those that are written without spaces.
        connection.execute(
            "CREATE VIRTUAL TABLE texts USING fts5(text, tokenize='trigram', detail=none, columnsize=0)"
        )
        connection.execute(
            "CREATE TABLE marks (number INTEGER PRIMARY KEY, id TEXT NOT NULL, seq INTEGER NOT NULL)"
        )
        connection.execute(f"PRAGMA user_version = {_VERSION}")
