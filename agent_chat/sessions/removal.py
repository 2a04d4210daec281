"""Takes sessions out of the database, with all that only they had, and gives the disk space back."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any, cast

from agent_chat.core.errors import UserError
from agent_chat.sessions.ownership import SessionInUse
from agent_chat.sessions.rows import event_range, session_number
from agent_chat.sessions.search_index import FILE_NAME, IndexUnusable, SearchIndex
from agent_chat.sessions.store import SessionStore
from agent_chat.sessions.summary import SessionSummary

_ORPHAN_AGE = 24 * 3600.0
"""Seconds for which a result or content may be kept before the event that names it is written."""
_WORTH_IT = 0.1
"""The share of the file that has to be free before it is written anew."""

# What names a stored result, and what names a file's content.
_RESULT, _CONTENT = "stored", "before"
_REFERRING = (
    "SELECT id, CAST(body AS BLOB) FROM events WHERE type IN ('tool_finished', 'context_thinned',"
    " 'file_changed', 'change_undone') AND NOT (type = 'tool_finished' AND instr(body, '\"stored\":null'))"
)


@dataclass(frozen=True, slots=True)
class Size:
    """A session and the bytes that its events and its stored results take."""

    session: SessionSummary
    bytes: int


def delete_sessions(store: SessionStore, session_ids: Sequence[str]) -> int:
    """Deletes sessions, all or none; the bytes that the disk got back.

    Raises UserError where one does not exist, SessionInUse where another process has one open, and
    StoreUnavailable where nothing can be written.
    """
    with ExitStack() as stack:
        for session_id in dict.fromkeys(session_ids):
            stack.callback(store.own(session_id).release)
        numbers = store.change(lambda connection: _delete(connection, session_ids))
    _forget(store, numbers)
    return _give_back(store)


def sizes(store: SessionStore) -> list[Size]:
    """Every session, the one used last first. Raises StoreUnavailable."""
    taken = store.ask(_bytes_by_session)
    return [Size(summary, taken.get(summary.id, 0)) for summary in store.list()]


def not_in_use(store: SessionStore, session_ids: Iterable[str]) -> Iterator[str]:
    """Those that no process has open now."""
    for session_id in session_ids:
        with suppress(SessionInUse):
            store.own(session_id).release()
            yield session_id


def _delete(connection: sqlite3.Connection, session_ids: Iterable[str]) -> list[int]:
    # What is deleted is overwritten, and not only marked as free.
    connection.execute("PRAGMA secure_delete = ON")
    numbers = [_number(connection, session_id) for session_id in session_ids]
    mine, others = _references(connection, set(numbers))
    for number in numbers:
        connection.execute("DELETE FROM events WHERE id BETWEEN ? AND ?", event_range(number))
        connection.execute("DELETE FROM sessions WHERE number = ?", (number,))
        connection.execute("DELETE FROM origins WHERE number = ?", (number,))
    _delete_unused(connection, "results", mine[_RESULT], others[_RESULT])
    _delete_unused(connection, "contents", mine[_CONTENT], others[_CONTENT])
    return numbers


def _number(connection: sqlite3.Connection, session_id: str) -> int:
    row = connection.execute("SELECT number FROM sessions WHERE id = ?", (session_id,)).fetchone()
    if row is None:
        raise UserError(f"There is no session {session_id!r}.")
    return int(row[0])


def _references(
    connection: sqlite3.Connection, numbers: set[int]
) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """What the events of these sessions name, and what those of all others do."""
    mine: dict[str, set[str]] = {_RESULT: set(), _CONTENT: set()}
    others: dict[str, set[str]] = {_RESULT: set(), _CONTENT: set()}
    for event, body in connection.execute(_REFERRING):
        side = mine if session_number(event) in numbers else others
        for kind, name in _named(body):
            side[kind].add(name)
    return mine, others


def _named(body: bytes) -> Iterator[tuple[str, str]]:
    try:
        waiting: list[Any] = [json.loads(body)]
    except (ValueError, RecursionError):
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            yield from ((key, fields[key]) for key in (_RESULT, _CONTENT) if isinstance(fields.get(key), str))
            waiting.extend(fields.values())
        elif isinstance(value, list):
            waiting.extend(cast("list[Any]", value))


def _delete_unused(connection: sqlite3.Connection, table: str, mine: set[str], others: set[str]) -> None:
    old = time.time() - _ORPHAN_AGE
    unused = [
        (name,)
        for name, created in connection.execute(f"SELECT id, created FROM {table}").fetchall()
        if name not in others and (name in mine or created < old)
    ]
    connection.executemany(f"DELETE FROM {table} WHERE id = ?", unused)


def _bytes_by_session(connection: sqlite3.Connection) -> dict[str, int]:
    taken: dict[int, int] = dict(
        connection.execute("SELECT id >> 32, sum(length(CAST(body AS BLOB))) FROM events GROUP BY 1")
    )
    results = dict(connection.execute("SELECT id, length(CAST(body AS BLOB)) FROM results"))
    counted = set[tuple[int, str]]()
    for event, body in connection.execute(_REFERRING):
        for kind, name in _named(body):
            place = (session_number(event), name)
            if kind == _RESULT and place not in counted:
                counted.add(place)
                taken[place[0]] = taken.get(place[0], 0) + results.get(name, 0)
    names = connection.execute("SELECT number, id FROM sessions")
    return {session_id: taken.get(number, 0) for number, session_id in names}


def _forget(store: SessionStore, numbers: Iterable[int]) -> None:
    path = store.folder / FILE_NAME
    if not path.exists():
        return
    try:
        index = SearchIndex(path)
    except IndexUnusable:
        return  # the next search notices that the sessions are gone
    try:
        index.forget(numbers)
        index.shrink()
    except IndexUnusable:
        pass
    finally:
        index.close()


def _give_back(store: SessionStore) -> int:
    before = _file_bytes(store)
    # Where it does not work now, as while others read, the space is used by the next sessions.
    with suppress(sqlite3.Error, UserError):
        store.ask(_write_anew)
    return max(0, before - _file_bytes(store))


def _write_anew(connection: sqlite3.Connection) -> None:
    (pages,), (free,) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "freelist_count")
    )
    if free > pages * _WORTH_IT:
        connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _file_bytes(store: SessionStore) -> int:
    return sum(path.stat().st_size for path in store.folder.glob(f"{store.path.name}*") if path.is_file())
