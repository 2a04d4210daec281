"""The session database as a process uses it: one connection, mended where it is damaged."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from agent_chat.sessions.connection import is_damage, open_connection
from agent_chat.sessions.guard import Guard

PATIENCE = 3.0
"""Seconds to wait for other processes that use the file."""


class InUse(sqlite3.DatabaseError):
    """The file is damaged, but other processes have it open."""

    def __init__(self) -> None:
        super().__init__("it is damaged, and cannot be mended while other agent-chat processes have it open")


class Database:
    """One connection for all threads of a process; `lock` is held while it is used."""

    def __init__(self, path: Path, on_problem: Callable[[str], None], patience: float = PATIENCE) -> None:
        """As `open_connection`; a file that is too damaged to be opened is mended."""
        self.path = path
        self.lock = threading.RLock()
        self._on_problem = on_problem
        self._patience = patience
        self._guard = Guard(path.with_suffix(".lock"))
        try:
            self.connection, self.writable = self._open_mended()
        except BaseException:
            self._guard.close()
            raise

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """Everything or nothing of what is written inside. Raises sqlite3.Error."""
        with self.lock:
            connection = self.connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def hurried(self) -> Generator[None]:
        """Inside, other processes are not waited for."""
        with self.lock:
            self.connection.execute("PRAGMA busy_timeout = 0")
            try:
                yield
            finally:
                self.connection.execute(f"PRAGMA busy_timeout = {int(self._patience * 1000)}")

    def mend(self) -> None:
        """Puts a sound database in the place of a damaged one, and says so. Raises OSError, sqlite3.Error."""
        with self.lock:
            self.connection.close()
            try:
                self._replace()
            finally:
                self.connection, self.writable = self._open()

    def close(self) -> None:
        """May be called twice."""
        with self.lock:
            self.connection.close()
            self._guard.close()

    def _open(self) -> tuple[sqlite3.Connection, bool]:
        self._guard.share()
        return open_connection(self.path, self._patience)

    def _open_mended(self) -> tuple[sqlite3.Connection, bool]:
        try:
            return self._open()
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
        self._replace()
        return self._open()

    def _replace(self) -> None:
        from agent_chat.sessions.recovery import is_sound, recover

        if not self._guard.take(self._patience):
            raise InUse
        if is_sound(self.path):
            return  # another process was faster
        recovered = recover(self.path)
        self._on_problem(
            f"The session database was damaged. {recovered.events:,} events of {recovered.sessions:,} "
            f"sessions could be read and are kept; the damaged file is now {recovered.copy}."
        )
