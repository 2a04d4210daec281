"""Reading a table of a damaged database: the rows that can be read, before and behind what cannot."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from agent_chat.sessions.rows import event_id, session_number

_NEAR = 32
"""In how many sessions behind a damaged place every entry is looked for."""
_FAR = 2000
"""In how many more sessions only the first one is."""
_FARTHEST = 100_000
"""How many entries of one session a damaged place may hide."""


Row = tuple[Any, ...]


def readable_rows(source: sqlite3.Connection, table: str, columns: str) -> Iterator[Row]:
    """The rows in order, each with its row id before the columns. Never raises sqlite3.Error."""
    query = f"SELECT rowid, {columns} FROM {table} WHERE rowid >= ? ORDER BY rowid"
    position = -1
    while True:
        try:
            for row in source.execute(query, (position + 1,)):
                if row[0] <= position:
                    break  # out of order: this page is damaged as well
                position = row[0]
                yield row
            else:
                return
        except sqlite3.Error:
            pass
        # The row before a damaged place is lost with the error: it is read again on its own.
        found = _next_row(source, f"{query} LIMIT 1", position)
        if found is None:
            return
        position = found[0]
        yield found


def _next_row(source: sqlite3.Connection, query: str, position: int) -> Row | None:
    """The first row behind a position that can be read; None where there is none."""
    number = session_number(max(position, 0))
    for session in range(number, number + _NEAR):
        failed = position if session == number else event_id(session, 0) - 1
        for candidate in _candidates(failed):
            if (found := _probe(source, query, candidate)) is not None:
                skipped = (_probe(source, query, one) for one in range(failed + 1, candidate))
                return next((nearer for nearer in skipped if nearer is not None), found) or None
            failed = candidate
    beginnings = (event_id(session, 0) for session in range(number + _NEAR, number + _NEAR + _FAR))
    probes = (_probe(source, query, one) for one in beginnings)
    return next((found for found in probes if found is not None), None) or None


def _candidates(position: int) -> Iterator[int]:
    """Row ids behind a position: every one at first, then ever fewer."""
    distance = 1
    while distance <= _FARTHEST:
        yield position + distance
        distance += 1 + distance // 32


def _probe(source: sqlite3.Connection, query: str, start: int) -> Row | None:
    """The first row from here on; an empty one behind the last row; None where this place is damaged."""
    try:
        row: Row | None = source.execute(query, (start,)).fetchone()
    except sqlite3.Error:
        return None
    if row is None:
        return ()
    return row if row[0] >= start else None
