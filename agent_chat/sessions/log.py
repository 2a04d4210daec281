"""The event log of one session: every entry is kept when `emit` returns."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable

from agent_chat.core.events import Entry
from agent_chat.core.model import Delta
from agent_chat.sessions.connection import is_damage, reason_of
from agent_chat.sessions.database import Database
from agent_chat.sessions.ownership import Ownership
from agent_chat.sessions.rows import INSERT_EVENT, INSERT_SUMMARY, SUMMARY_COLUMNS, event_row, summary_row
from agent_chat.sessions.summary import SessionSummary, summarize

_RETRY_AFTER = 1.0
"""Seconds between two tries to save what could not be saved."""
UPDATE_SUMMARY = (
    # The id stays: setting it would write its index as well, every time.
    f"UPDATE sessions SET {', '.join(f'{name.strip()} = ?' for name in SUMMARY_COLUMNS.split(',')[1:])} "
    "WHERE number = ?"
)
_KEEP_SUMMARY = INSERT_SUMMARY.replace("INSERT", "INSERT OR IGNORE", 1)
_INSERT_ONCE = INSERT_EVENT.replace("INSERT", "INSERT OR IGNORE", 1)


class SessionLog:
    """An `EventSink` that writes to the session database and never fails.

    What cannot be written (disk full, file read-only, locked by others for too long) is said once, kept in
    memory, and written in order as soon as that is possible again. `close` makes the last try.
    """

    def __init__(
        self,
        database: Database,
        summary: SessionSummary,
        ownership: Ownership,
        on_problem: Callable[[str], None],
    ) -> None:
        self.session_id = summary.id
        self._database = database
        self._summary = summary
        self._ownership = ownership
        self._on_problem = on_problem
        self._number: int | None = None
        """The number of the session's row, once there is one."""
        self._pending: list[Entry] = []
        self._mended = False
        self._warned = False
        self._retry_at = 0.0

    @property
    def summary(self) -> SessionSummary:
        return self._summary

    async def emit(self, entry: Entry) -> None:
        # No await before the writing: the order of the calls is the order of the entries.
        self.append(entry)

    def show(self, delta: Delta) -> None:
        pass

    def append(self, entry: Entry) -> None:
        """As `emit`, for those who do not wait in an event loop."""
        before = self._summary
        self._summary = summarize(before, entry)
        if self._pending:
            self._pending.append(entry)
            if time.monotonic() >= self._retry_at:
                self._retry()
            return
        try:
            if self._number is None or self._summary is not before:
                self._write([entry], INSERT_EVENT)
            else:
                row = event_row(self._number, entry)
                with self._database.lock:
                    self._database.connection.execute(INSERT_EVENT, row)
        except Exception as error:  # whatever it is, the session goes on
            self._pending.append(entry)
            self._give_way(error)

    def close(self) -> None:
        """Saves what could not be saved before and gives the session free. Never raises."""
        if self._pending:
            self._retry()
        if self._pending:
            self._on_problem(
                f"The last {len(self._pending):,} events of session {self.session_id} could not be saved."
            )
            self._pending.clear()
        self._ownership.release()

    def _write(self, entries: Iterable[Entry], insert: str) -> None:
        with self._database.transaction() as connection:
            number = self._write_summary(connection)
            for entry in entries:
                connection.execute(insert, event_row(number, entry))
        self._number = number

    def _write_summary(self, connection: sqlite3.Connection) -> int:
        row = summary_row(self._summary)
        number = self._number if self._number is not None else self._find(connection)
        if number is None:
            inserted = connection.execute(INSERT_SUMMARY, (None, *row)).lastrowid
            assert inserted is not None
            return inserted
        connection.execute(UPDATE_SUMMARY, (*row[1:], number))
        return number

    def _find(self, connection: sqlite3.Connection) -> int | None:
        found = connection.execute("SELECT number FROM sessions WHERE id = ?", (self.session_id,)).fetchone()
        return found[0] if found else None

    def _retry(self) -> None:
        try:
            with self._database.hurried():
                # A commit that failed late may have happened all the same.
                self._write(self._pending, _INSERT_ONCE)
        except Exception as error:
            self._give_way(error)
        else:
            self._pending.clear()

    def _give_way(self, error: Exception) -> None:
        if is_damage(error) and not self._mended:
            self._mended = True
            self._mend()
            return
        self._retry_at = time.monotonic() + _RETRY_AFTER
        if not self._warned:
            self._warned = True
            self._on_problem(
                f"The session cannot be saved: {self._database.path}: {reason_of(error)}. "
                "It goes on, and is saved as soon as that is possible."
            )

    def _mend(self) -> None:
        try:
            self._database.mend()
            self._reclaim()
        except Exception as error:
            self._give_way(error)
        else:
            self._retry()

    def _reclaim(self) -> None:
        """Makes the session's row again where it did not survive, under the number that its events have."""
        if self._number is not None:
            with self._database.transaction() as connection:
                connection.execute(_KEEP_SUMMARY, (self._number, *summary_row(self._summary)))
                connection.execute(
                    "UPDATE sessions SET id = ? WHERE number = ?", (self.session_id, self._number)
                )
