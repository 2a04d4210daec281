"""A session that goes on from a point of another one, which stays as it is."""

from __future__ import annotations

import sqlite3

from agent_chat.core.errors import UserError
from agent_chat.sessions.origins import Origin, insert_origin, insert_session, origin_of, summarize_again
from agent_chat.sessions.rows import event_id, event_range, event_seq
from agent_chat.sessions.store import SessionStore


def fork_session(store: SessionStore, session_id: str, now: float, before_turn: int | None = None) -> str:
    """The id of a new session with what another one holds before a turn, or with all of it.

    `now`: seconds since the epoch. Raises UserError where there is no such session or turn, and where nothing
    can be written.
    """
    new_id = store.free_id(now)

    def copy(connection: sqlite3.Connection) -> None:
        found = connection.execute("SELECT number FROM sessions WHERE id = ?", (session_id,)).fetchone()
        if found is None:
            raise UserError(f"There is no session {session_id!r}.")
        first, last = event_range(found[0])
        if before_turn is not None:
            last = _start_of_turn(connection, found[0], before_turn) - 1
        number = insert_session(connection, new_id)
        # As they are, damaged ones included.
        connection.execute(
            "INSERT INTO events (id, at, turn, iteration, type, body)"
            " SELECT id - ? + ?, at, turn, iteration, type, body FROM events WHERE id BETWEEN ? AND ?",
            (first, event_id(number, 0), first, last),
        )
        (copied,) = connection.execute(
            "SELECT max(id) FROM events WHERE id BETWEEN ? AND ?", event_range(number)
        ).fetchone()
        if copied is None:
            raise UserError(f"There is nothing in session {session_id} to begin from.")
        source = origin_of(connection, session_id)
        origin = Origin("fork", session_id, event_seq(copied))
        if source is not None and source.kind == "import":
            # What came from elsewhere stays what came from elsewhere.
            origin = Origin("import", source.session, origin.events)
        insert_origin(connection, number, origin)
        summarize_again(connection, number, new_id, now)

    store.change(copy)
    return new_id


def _start_of_turn(connection: sqlite3.Connection, number: int, turn: int) -> int:
    """The id of the event that begins a turn. Raises UserError where there is none."""
    rows = connection.execute(
        "SELECT turn, id FROM events WHERE id BETWEEN ? AND ? AND type = 'turn_started'", event_range(number)
    )
    starts: dict[int, int] = dict(rows)
    if turn not in starts:
        there = f"It has turns 1 to {max(starts)}." if starts else "It has no turns yet."
        raise UserError(f"There is no turn {turn} in this session.", hint=there)
    return starts[turn]
