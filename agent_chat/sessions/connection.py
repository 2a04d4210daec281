"""A connection to the session database, and what its errors mean."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from agent_chat.sessions import schema
from agent_chat.sessions.folder import touch_private

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


def is_damage(error: BaseException) -> bool:
    """Whether the file itself is broken, so that trying again cannot help."""
    if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_SHORT_READ:
        return True  # a file was cut off
    return _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def reason_of(error: BaseException) -> str:
    """For people: why the database could not be used."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return _REASONS.get(_code(error), str(error) or type(error).__name__)


def connect(path: Path, how: str, *, timeout: float = 5.0) -> sqlite3.Connection:
    """`how`: parameters of SQLite's URI. Raises sqlite3.Error."""
    uri = f"{path.as_uri()}?{how}"
    connection = sqlite3.connect(
        uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False
    )
    # Bytes that are no text must not make a whole row unreadable.
    connection.text_factory = _text
    return connection


def open_connection(path: Path, timeout: float) -> tuple[sqlite3.Connection, bool]:
    """The database, made where there is none and brought up to date; and whether it can be written.

    `timeout`: seconds to wait for other processes. Raises OSError, sqlite3.Error and NewerSchema.
    """
    try:
        touch_private(path)
        return _open_for_writing(path, timeout), True
    except (OSError, sqlite3.Error) as error:
        if not path.is_file() or not _is_refusal(error):
            raise
    connection = connect(path, "immutable=1")
    connection.execute("SELECT 1 FROM events LIMIT 1")
    return connection, False


def _open_for_writing(path: Path, timeout: float) -> sqlite3.Connection:
    connection = connect(path, "mode=rw", timeout=timeout)
    try:
        if schema.version_of(connection) != schema.VERSION:
            _set_up(connection, timeout)
        # A commit survives the end of the process at once, the loss of power after the next checkpoint.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA journal_size_limit = {_JOURNAL_BYTES}")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    except BaseException:
        connection.close()
        raise
    return connection


def _set_up(connection: sqlite3.Connection, timeout: float) -> None:
    give_up = time.monotonic() + timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            schema.migrate(connection)
            return
        except sqlite3.OperationalError as error:
            # Changing the journal mode does not wait for others who do the same.
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() >= give_up:
                raise
            time.sleep(0.01)


def _is_refusal(error: BaseException) -> bool:
    return isinstance(error, OSError) or _code(error) in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)


def _code(error: BaseException) -> int:
    """SQLite's primary result code; 0 for an error of something else."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
