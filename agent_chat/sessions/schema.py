"""The tables of the session database, and the steps from every earlier release's to today's."""

from __future__ import annotations

import sqlite3

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE sessions (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            started REAL NOT NULL,
            last REAL NOT NULL,
            workspace TEXT NOT NULL,
            model TEXT NOT NULL,
            title TEXT NOT NULL,
            turns INTEGER NOT NULL,
            prompt INTEGER NOT NULL,
            cached INTEGER NOT NULL,
            completion INTEGER NOT NULL,
            reasoning INTEGER NOT NULL,
            cost REAL,
            ended TEXT
        )""",
        # One tree and no index: an event's id is its session's number and its seq (see `rows`). The ids of a
        # session lie side by side, and an index for searching can point to an event by this one number.
        """CREATE TABLE events (
            id INTEGER PRIMARY KEY,
            at REAL NOT NULL,
            turn INTEGER NOT NULL,
            iteration INTEGER NOT NULL,
            type TEXT NOT NULL,
            body TEXT NOT NULL
        )""",
        """CREATE TABLE results (
            id TEXT PRIMARY KEY,
            sha256 BLOB NOT NULL,
            created REAL NOT NULL,
            body TEXT NOT NULL
        )""",
    ),
    # What files held before tools changed them, compressed.
    (
        """CREATE TABLE contents (
            id TEXT PRIMARY KEY CHECK (length(id) = 64),
            created REAL NOT NULL,
            body BLOB NOT NULL
        )""",
    ),
    # Where the first events of a session come from that it did not write itself. The checks tell the rows
    # from those of another table, which salvage may take them for.
    (
        """CREATE TABLE origins (
            number INTEGER PRIMARY KEY,
            kind TEXT NOT NULL CHECK (kind IN ('fork', 'import')),
            session TEXT NOT NULL CHECK (typeof(session) = 'text'),
            events INTEGER NOT NULL CHECK (events > 0)
        )""",
    ),
)
"""Step n leads from version n to version n + 1. Steps that were released never change."""

VERSION = len(MIGRATIONS)

ORIGINS_SINCE = 3
"""The first version with the table `origins`; one that cannot be written to stays as it is."""


class NewerSchema(Exception):
    """A later release made this database; this one must not write to it."""


def version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection) -> None:
    """Brings the tables up to date, in one transaction. Raises NewerSchema and sqlite3.Error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = version_of(connection)
        if version > VERSION:
            raise NewerSchema
        for statement in (statement for step in MIGRATIONS[version:] for statement in step):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
