"""Past sessions: found by name or place, listed, and read entry by entry."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from agent_chat.core.errors import UserError
from agent_chat.core.events import Entry
from agent_chat.sessions.rows import EVENT_COLUMNS, SUMMARY_COLUMNS, RowReader, event_range, read_summary
from agent_chat.sessions.summary import SessionSummary

_SUMMARIES = f"SELECT {SUMMARY_COLUMNS} FROM sessions"
_SHOWN = 8
"""How many sessions a message names at most."""


@dataclass(frozen=True, slots=True)
class LoadedSession:
    """A session as far as its log can be read."""

    summary: SessionSummary
    entries: tuple[Entry, ...]
    """In order of seq. Where one was damaged stands an `UnknownEvent` of the type `events.DAMAGED`."""
    damaged: int
    """How many entries could not be read."""


def list_sessions(
    connection: sqlite3.Connection, limit: int | None = None, workspace: str | None = None
) -> list[SessionSummary]:
    """The sessions used last come first. None is no limit, or every workspace."""
    rows = connection.execute(
        f"{_SUMMARIES} WHERE ?1 IS NULL OR workspace = ?1 ORDER BY last DESC, number DESC LIMIT ?2",
        (workspace, -1 if limit is None else limit),
    )
    return [read_summary(row) for row in rows]


def resolve(connection: sqlite3.Connection, text: str) -> str:
    """The id of the session that is meant: its id, the beginning of it, or its random part.

    Raises UserError where there is none or more than one.
    """
    text = text.strip()
    ids = [str(row[0]) for row in connection.execute("SELECT id FROM sessions ORDER BY last DESC")]
    if text in ids:
        return text
    meant = [one for one in ids if text and (one.startswith(text) or one.rpartition("-")[2] == text)]
    match meant:
        case [one]:
            return one
        case []:
            raise UserError(f"There is no session {text!r}.", hint=_nearest(text, ids))
        case _:
            more = f" and {len(meant) - _SHOWN} more" if len(meant) > _SHOWN else ""
            raise UserError(
                f"{text!r} is the beginning of {len(meant)} sessions: {', '.join(meant[:_SHOWN])}{more}.",
                hint="Give more of the id.",
            )


def _nearest(text: str, ids: list[str]) -> str:
    if not ids:
        return "There are no sessions yet."
    from difflib import get_close_matches

    near = get_close_matches(text, ids, n=3, cutoff=0.6)
    meant = f"Did you mean {' or '.join(near)}? " if near else ""
    return f"{meant}`agent-chat sessions list` shows all."


def last_said(connection: sqlite3.Connection, session_id: str) -> str:
    """The last user message; empty where there is none that can be read."""
    rows = connection.execute(
        "SELECT json_extract(body, '$.text') FROM events JOIN sessions"
        " ON events.id BETWEEN sessions.number << 32 AND (sessions.number << 32) + 4294967295"
        " WHERE sessions.id = ? AND type = 'user_message' AND json_valid(body)"
        " ORDER BY events.id DESC LIMIT 1",
        (session_id,),
    )
    row = rows.fetchone()
    return row[0] if row and isinstance(row[0], str) else ""


def exists(connection: sqlite3.Connection, session_id: str) -> bool:
    return connection.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone() is not None


def load(connection: sqlite3.Connection, session_id: str) -> LoadedSession | None:
    """None where there is no such session. Raises sqlite3.Error where the file is damaged."""
    found = connection.execute(
        f"SELECT number, {SUMMARY_COLUMNS} FROM sessions WHERE id = ?", (session_id,)
    ).fetchone()
    if found is None:
        return None
    reader = RowReader(session_id)
    entries = tuple(reader.read(row) for row in _rows(connection, found[0]))
    return LoadedSession(read_summary(found[1:]), entries, reader.damaged)


def _rows(connection: sqlite3.Connection, number: int) -> Iterator[tuple[object, ...]]:
    return connection.execute(
        f"SELECT {EVENT_COLUMNS} FROM events WHERE id BETWEEN ? AND ? ORDER BY id", event_range(number)
    )
