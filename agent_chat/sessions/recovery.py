"""A damaged database file: put aside as it is, and read row by row as far as SQLite can."""

from __future__ import annotations

import os
import shutil
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent_chat.sessions import schema
from agent_chat.sessions.connection import connect
from agent_chat.sessions.folder import touch_private
from agent_chat.sessions.rows import (
    EVENT_COLUMNS,
    INSERT_EVENT,
    INSERT_SUMMARY,
    SUMMARY_COLUMNS,
    RowReader,
    event_range,
    session_number,
    summary_row,
)
from agent_chat.sessions.salvage import readable_rows
from agent_chat.sessions.summary import SessionSummary, summarize

_EVENT = "at, turn, iteration, CAST(type AS BLOB), CAST(body AS BLOB)"
_SIDE_FILES = ("-wal", "-shm")


@dataclass(frozen=True, slots=True)
class Recovered:
    """What was saved of a damaged database."""

    copy: Path
    """The damaged file, as it was."""
    sessions: int
    events: int


def is_sound(path: Path) -> bool:
    """Whether SQLite finds nothing wrong with the structure of a database. Changes nothing."""
    try:
        connection = connect(path, "mode=ro")
        try:
            return connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
        finally:
            connection.close()
    except sqlite3.Error:
        return False


def recover(path: Path) -> Recovered:
    """Puts a database of what can be read in the place of a damaged one, after copying that aside.

    Nobody else may have it open. Raises OSError and sqlite3.Error; the damaged file then is where it was.
    """
    copy = _put_aside(path)
    work, fresh = path.with_name(f"{path.stem}.work.db"), path.with_name(f"{path.stem}.new.db")
    try:
        for file in (work, fresh):
            _remove(file)
        _create(fresh)
        _copy(path, work)
        sessions, events = _salvage(work, fresh)
        # A journal that belongs to the damaged file must never meet the new one.
        for suffix in _SIDE_FILES:
            _side(path, suffix).unlink(missing_ok=True)
        os.replace(fresh, path)
    finally:
        for file in (work, fresh):
            _remove(file)
    return Recovered(copy, sessions, events)


def _put_aside(path: Path) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
    copy = path.with_name(f"{path.stem}.damaged-{stamp}{path.suffix}")
    _copy(path, copy)
    return copy


def _copy(path: Path, target: Path) -> None:
    for suffix in ("", "-wal"):
        if _side(path, suffix).exists():
            shutil.copy2(_side(path, suffix), _side(target, suffix))


def _remove(path: Path) -> None:
    for suffix in ("", *_SIDE_FILES):
        _side(path, suffix).unlink(missing_ok=True)


def _side(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _create(path: Path) -> None:
    touch_private(path)
    connection = connect(path, "mode=rw")
    connection.execute("PRAGMA journal_mode = WAL")
    schema.migrate(connection)
    connection.close()


def _salvage(work: Path, fresh: Path) -> tuple[int, int]:
    source, target = _open_damaged(work, fresh), connect(fresh, "mode=rw")
    try:
        target.execute("BEGIN IMMEDIATE")
        counts = _copy_sessions(source, target)
        _copy_rows(source, target, "results", "id, sha256, created, body")
        _copy_rows(source, target, "contents", "id, created, body")
        _copy_rows(source, target, "origins", "number, kind, session, events")
        target.execute("COMMIT")
        return counts
    finally:
        source.close()
        target.close()


def _open_damaged(work: Path, fresh: Path) -> sqlite3.Connection:
    connection = _open_truncated(work)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return connection
    except sqlite3.Error:
        connection.close()
    # The first page says where the tables begin, which is the same in all databases of this version.
    _replace_first_page(work, fresh)
    return _open_truncated(work)


def _open_truncated(path: Path) -> sqlite3.Connection:
    connection = connect(path, "mode=rw")
    try:
        # Otherwise SQLite refuses a file that is shorter than it says.
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("PRAGMA query_only = ON")
    except sqlite3.Error:
        pass
    return connection


def _replace_first_page(path: Path, donor: Path) -> None:
    _side(path, "-wal").unlink(missing_ok=True)
    size = int.from_bytes(donor.read_bytes()[16:18], "big")
    page = bytearray(donor.read_bytes()[:size])
    page[28:32] = (path.stat().st_size // size).to_bytes(4, "big")
    page[92:96] = page[24:28]  # so that the number of pages counts
    with path.open("r+b") as file:
        file.write(page)


def _copy_sessions(source: sqlite3.Connection, target: sqlite3.Connection) -> tuple[int, int]:
    events, found = 0, set[int]()
    for row_id, at, turn, iteration, kind, body in readable_rows(source, "events", _EVENT):
        number = session_number(row_id)
        found.add(number)
        place = (_number(at), int(_number(turn)), int(_number(iteration)))
        events += target.execute(INSERT_EVENT, (row_id, *place, _text(kind), _text(body))).rowcount
    named = set[int]()
    for number, *summary in readable_rows(source, "sessions", SUMMARY_COLUMNS):
        if number in found and _insert_summary(target, number, tuple(summary)):
            named.add(number)
    for number in found - named:
        _insert_summary(target, number, summary_row(_summary_of(target, number)))
    return len(found), events


def _copy_rows(source: sqlite3.Connection, target: sqlite3.Connection, table: str, columns: str) -> None:
    insert = f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(columns.split(',')))})"
    for _, *row in readable_rows(source, table, columns):
        try:
            target.execute(insert, row)
        except sqlite3.Error:
            continue


def _insert_summary(target: sqlite3.Connection, number: int, row: tuple[Any, ...]) -> bool:
    try:
        target.execute(INSERT_SUMMARY, (number, *row))
    except sqlite3.Error:
        return False
    return True


def _summary_of(target: sqlite3.Connection, number: int) -> SessionSummary:
    """The summary of a session whose own row is lost; so is its name."""
    summary = SessionSummary(id=f"recovered-{number}")
    reader = RowReader(summary.id)
    query = f"SELECT {EVENT_COLUMNS} FROM events WHERE id BETWEEN ? AND ? ORDER BY id"
    for row in target.execute(query, event_range(number)):
        entry = reader.read(row)
        summary = summarize(summary, entry)
    return summary


def _number(value: object) -> float:
    return value if isinstance(value, (int, float)) else 0


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
