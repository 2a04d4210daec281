"""Sessions whose first events come from elsewhere: forks of other sessions, and imported ones."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from typing import Literal

from agent_chat.sessions import schema
from agent_chat.sessions.rows import (
    EVENT_COLUMNS,
    INSERT_SUMMARY,
    RowReader,
    event_range,
    summary_row,
)
from agent_chat.sessions.summary import SessionSummary, summarize

OriginKind = Literal["fork", "import"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the first events of a session come from."""

    kind: OriginKind
    session: str
    """The id of the session that they were written for."""
    events: int
    """The seq of the last of them."""


def origin_of(connection: sqlite3.Connection, session_id: str) -> Origin | None:
    """None for a session that wrote all its events itself."""
    if schema.version_of(connection) < schema.ORIGINS_SINCE:
        return None
    row = connection.execute(
        "SELECT kind, session, events FROM origins JOIN sessions USING (number) WHERE id = ?", (session_id,)
    ).fetchone()
    return Origin(*row) if row else None


def insert_session(connection: sqlite3.Connection, session_id: str) -> int:
    """A row for a session without events yet; its number. Its id must be free."""
    number = connection.execute(INSERT_SUMMARY, (None, *summary_row(SessionSummary(session_id)))).lastrowid
    assert number is not None
    # A number is free again when its session is deleted; a damaged file may have kept what belonged to it.
    connection.execute("DELETE FROM events WHERE id BETWEEN ? AND ?", event_range(number))
    return number


def insert_origin(connection: sqlite3.Connection, number: int, origin: Origin) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO origins (number, kind, session, events) VALUES (?, ?, ?, ?)",
        (number, origin.kind, origin.session, origin.events),
    )


def summarize_again(
    connection: sqlite3.Connection, number: int, session_id: str, now: float | None = None
) -> None:
    """Writes the summary that follows from a session's events; with `now`, as of one that was used then."""
    from agent_chat.sessions.log import UPDATE_SUMMARY

    summary, reader = SessionSummary(session_id), RowReader(session_id)
    query = f"SELECT {EVENT_COLUMNS} FROM events WHERE id BETWEEN ? AND ? ORDER BY id"
    for row in connection.execute(query, event_range(number)):
        summary = summarize(summary, reader.read(row))
    summary = summary if now is None else replace(summary, last=now)
    connection.execute(UPDATE_SUMMARY, (*summary_row(summary)[1:], number))
