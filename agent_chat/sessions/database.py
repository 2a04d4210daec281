"""The connection to the session database: opened, brought up to date, shared by a process."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from agent_chat.sessions import schema
from agent_chat.sessions.folder import touch_private

PATIENCE = 3.0
"""Seconds to wait for other processes that write."""
_JOURNAL_BYTES = 4 * 1024 * 1024
"""What the write-ahead log is cut back to; SQLite empties it into the database every 1,000 pages."""

_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it cannot be written to",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_BUSY: "another process keeps it locked",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
    sqlite3.SQLITE_CORRUPT: "it is damaged",
    sqlite3.SQLITE_NOTADB: "it is damaged",
}


def code_of(error: BaseException) -> int:
    """SQLite's primary result code; 0 for an error of something else."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def is_damage(error: BaseException) -> bool:
    """Whether the file itself is broken, so that trying again cannot help."""
    return code_of(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def reason_of(error: BaseException) -> str:
    """For people: why the database could not be used."""
    return _REASONS.get(code_of(error), str(error) or type(error).__name__)


class Database:
    """One connection for all threads of a process; `lock` is held while it is used."""

    def __init__(self, path: Path) -> None:
        """Opens the file, makes it where there is none, and brings its tables up to date.

        A file that can only be read is opened for reading: what writes to it fails then. Raises OSError,
        sqlite3.Error and NewerSchema.
        """
        self.path = path
        self.lock = threading.RLock()
        self.connection = _open(path)

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """Everything or nothing of what is written inside. Raises sqlite3.Error."""
        with self.lock:
            connection = self.connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def hurried(self) -> Generator[None]:
        """Inside, locks of other processes are not waited for."""
        with self.lock:
            self.connection.execute("PRAGMA busy_timeout = 0")
            try:
                yield
            finally:
                self.connection.execute(f"PRAGMA busy_timeout = {int(PATIENCE * 1000)}")

    def close(self) -> None:
        with self.lock:
            self.connection.close()


def _open(path: Path) -> sqlite3.Connection:
    try:
        touch_private(path)
        connection = connect(f"{path.as_uri()}?mode=rw")
        try:
            _prepare(connection)
        except BaseException:
            connection.close()
            raise
    except (OSError, sqlite3.Error) as error:
        if not path.is_file() or not _is_refusal(error):
            raise
        connection = connect(f"{path.as_uri()}?immutable=1")
        connection.execute("SELECT 1 FROM events LIMIT 1")
    return connection


def connect(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        uri, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
    )
    # Bytes that are no text must not make a whole row unreadable.
    connection.text_factory = _text
    return connection


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _prepare(connection: sqlite3.Connection) -> None:
    version = schema.version_of(connection)
    if version > schema.VERSION:
        raise schema.NewerSchema
    if version < schema.VERSION:
        _set_up(connection)
    # A commit survives the end of the process at once, the loss of power after the next checkpoint.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA journal_size_limit = {_JOURNAL_BYTES}")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("ROLLBACK")


def _set_up(connection: sqlite3.Connection) -> None:
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            schema.migrate(connection)
            return
        except sqlite3.OperationalError as error:
            # Changing the journal mode does not wait for others who do the same.
            if code_of(error) != sqlite3.SQLITE_BUSY or time.monotonic() >= give_up:
                raise
            time.sleep(0.01)


def _is_refusal(error: BaseException) -> bool:
    return isinstance(error, OSError) or code_of(error) in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
