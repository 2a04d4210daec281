"""Reading a table of a damaged database: the rows that can be read, before and behind what cannot."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from agent_chat.sessions.rows import event_id, session_number

_SESSIONS = 1000
"""How many sessions behind a damaged place are tried before the rest is given up."""
_FARTHEST = 1_000_000
"""How many entries of one session a damaged place may hide."""


def readable_rows(source: sqlite3.Connection, table: str, columns: str) -> Iterator[tuple[Any, ...]]:
    """The rows in order, each with its row id before the columns. Never raises sqlite3.Error."""
    query = f"SELECT rowid, {columns} FROM {table} WHERE rowid >= ? ORDER BY rowid"
    start: int | None = 0
    position = 0
    while start is not None:
        try:
            for row in source.execute(query, (start,)):
                if row[0] <= position:
                    break  # out of order: this page is damaged as well
                position = row[0]
                yield row
            else:
                return
        except sqlite3.Error:
            pass
        start = _next_readable(source, f"{query} LIMIT 1", position)


def _next_readable(source: sqlite3.Connection, query: str, position: int) -> int | None:
    """The first row id behind a position from which on rows can be read; None where there is none."""
    number = session_number(position)
    for session in range(number, number + _SESSIONS):
        failed = position if session == number else event_id(session, 0) - 1
        for candidate in _candidates(failed):
            if _is_readable(source, query, candidate):
                skipped = range(failed + 1, candidate)
                return next((one for one in skipped if _is_readable(source, query, one)), candidate)
            failed = candidate
    return None


def _candidates(position: int) -> Iterator[int]:
    """Row ids behind a position: every one at first, then ever fewer."""
    distance = 1
    while distance <= _FARTHEST:
        yield position + distance
        distance += 1 + distance // 32


def _is_readable(source: sqlite3.Connection, query: str, start: int) -> bool:
    try:
        row = source.execute(query, (start,)).fetchone()
    except sqlite3.Error:
        return False
    return row is None or row[0] >= start
