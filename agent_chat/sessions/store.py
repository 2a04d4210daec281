"""The door to all sessions: starts, resumes, finds, lists and reads them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from agent_chat.core.errors import UserError
from agent_chat.core.events import Entry
from agent_chat.core.ports import ContentStore, EventSink, ResultStore
from agent_chat.sessions import ownership, reading
from agent_chat.sessions.connection import is_damage, reason_of
from agent_chat.sessions.contents import MemoryContents, OverlaidContents, StoredContents
from agent_chat.sessions.database import PATIENCE, Database
from agent_chat.sessions.folder import OVERRIDE, NoFolder, create_private, state_folder
from agent_chat.sessions.ids import create_session_id
from agent_chat.sessions.log import SessionLog
from agent_chat.sessions.memory import MemoryLog
from agent_chat.sessions.ownership import Ownership
from agent_chat.sessions.reading import LoadedSession
from agent_chat.sessions.results import MemoryResults, OverlaidResults, StoredResults
from agent_chat.sessions.schema import NewerSchema
from agent_chat.sessions.summary import SessionSummary

if TYPE_CHECKING:
    from agent_chat.sessions.origins import Origin

OnProblem = Callable[[str], None]
"""Is given one line for the user."""

Answer = TypeVar("Answer")

FILE_NAME = "sessions.db"


class OpenLog(EventSink, Protocol):
    """The log of a session that is running."""

    @property
    def session_id(self) -> str: ...

    def close(self) -> None:
        """Gives the session free. Never raises; may be called twice."""
        ...


class Sessions(Protocol):
    """Where sessions are kept."""

    @property
    def results(self) -> ResultStore: ...
    @property
    def contents(self) -> ContentStore: ...

    def create(self, now: float) -> OpenLog:
        """The log of a new session. `now`: seconds since the epoch. Never raises."""
        ...

    def resume(self, session_id: str) -> tuple[OpenLog, tuple[Entry, ...]]:
        """A past session, by its whole id, and its entries so far. Raises UserError where there is none, or
        another process has it open."""
        ...

    def latest(self, workspace: str) -> str | None:
        """The id of the session that was used last in this folder, one-shots included."""
        ...

    def resolve(self, text: str) -> str:
        """The id that is meant by the beginning of it or by its random part. Raises UserError."""
        ...

    def origin(self, session_id: str) -> Origin | None:
        """Where the first events of a session come from; None where it wrote them itself."""
        ...

    def close(self) -> None: ...


class StoreUnavailable(UserError):
    """Sessions can be neither read nor written."""

    def __init__(self, message: str) -> None:
        super().__init__(message, hint=f"Set {OVERRIDE} to a folder that can be written.")


class SessionStore:
    """Sessions in a database of a folder; many processes may use it at once."""

    def __init__(self, folder: Path, on_problem: OnProblem, patience: float = PATIENCE) -> None:
        """`patience`: seconds to wait for other processes. Raises StoreUnavailable."""
        self.folder = folder
        self._on_problem = on_problem
        self.path = path = folder / FILE_NAME
        try:
            create_private(folder)
            self._database = Database(path, on_problem, patience)
        except NewerSchema as error:
            raise StoreUnavailable(
                f"Sessions cannot be used: {path} was written by a newer version of agent-chat."
            ) from error
        except (OSError, sqlite3.Error) as error:
            raise self._unavailable(error) from error
        self.results = StoredResults(self._database, on_problem)
        self.contents = StoredContents(self._database, on_problem)

    @property
    def writable(self) -> bool:
        return self._database.writable

    def create(self, now: float) -> SessionLog:
        ownership.sweep(self._locks, now)
        while True:
            summary = SessionSummary(id=create_session_id(now), started=now, last=now)
            try:
                owned = self.own(summary.id)
            except ownership.SessionInUse:
                continue  # the same second and the same random part
            if not self._is_taken(summary.id):
                return SessionLog(self._database, summary, owned, self._on_problem)
            owned.release()

    def resume(self, session_id: str) -> tuple[SessionLog, tuple[Entry, ...]]:
        if not self._exists(session_id):
            raise UserError(f"There is no session {session_id!r}.")
        # Owned before it is read: nobody may add to it in between.
        owned = self.own(session_id)
        loaded = self.read(session_id)
        return SessionLog(self._database, loaded.summary, owned, self._on_problem), loaded.entries

    def read(self, session_id: str) -> LoadedSession:
        """Says how many entries were damaged. Raises UserError where there is no such session."""
        loaded = self._load(session_id)
        if loaded is None:
            raise UserError(f"There is no session {session_id!r}.")
        if loaded.damaged:
            count = "1 damaged entry was" if loaded.damaged == 1 else f"{loaded.damaged} damaged entries were"
            self._on_problem(f"Session {session_id}: {count} skipped; all others are there.")
        return loaded

    def list(self, limit: int | None = None, workspace: str | None = None) -> list[SessionSummary]:
        """The sessions used last come first. None is no limit, or every workspace."""
        return self.ask(lambda connection: reading.list_sessions(connection, limit, workspace))

    def latest(self, workspace: str) -> str | None:
        return next((summary.id for summary in self.list(1, workspace)), None)

    def resolve(self, text: str) -> str:
        return self.ask(lambda connection: reading.resolve(connection, text))

    def origin(self, session_id: str) -> Origin | None:
        from agent_chat.sessions.origins import origin_of

        return self.ask(lambda connection: origin_of(connection, session_id))

    def close(self) -> None:
        self._database.close()

    def free_id(self, now: float) -> str:
        """An id that no session has. `now`: seconds since the epoch."""
        while self._is_taken(session_id := create_session_id(now)):
            pass
        return session_id

    def own(self, session_id: str) -> Ownership:
        """The right to write to a session. Raises SessionInUse where another process has it."""
        return Ownership.acquire(self._locks, session_id, self._on_problem)

    def change(self, action: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Writes to the database, all or nothing. Raises StoreUnavailable, and what the action raises."""
        try:
            with self._database.transaction() as connection:
                return action(connection)
        except sqlite3.Error as error:
            raise self._unavailable(error) from error

    @property
    def _locks(self) -> Path:
        return self.folder / "locks"

    def _load(self, session_id: str) -> LoadedSession | None:
        return self.ask(lambda connection: reading.load(connection, session_id))

    def _exists(self, session_id: str) -> bool:
        return self.ask(lambda connection: reading.exists(connection, session_id))

    def _is_taken(self, session_id: str) -> bool:
        try:
            return self._exists(session_id)
        except StoreUnavailable:
            return False  # what is written to the log will say what is wrong

    def ask(self, question: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Reads from the database; mends it and reads again where it is damaged. Raises StoreUnavailable."""
        with self._database.lock:
            try:
                return question(self._database.connection)
            except sqlite3.Error as error:
                if not is_damage(error):
                    raise self._unavailable(error) from error
            try:
                self._database.mend()
                return question(self._database.connection)
            except (OSError, sqlite3.Error) as error:
                raise self._unavailable(error) from error

    def _unavailable(self, error: Exception) -> StoreUnavailable:
        return StoreUnavailable(f"Sessions cannot be kept: {self.path}: {reason_of(error)}.")


class MemorySessions:
    """Sessions that end with the process: there are no past ones."""

    def __init__(self) -> None:
        self.results = MemoryResults()
        self.contents = MemoryContents()

    def create(self, now: float) -> MemoryLog:
        return MemoryLog(create_session_id(now))

    def resume(self, session_id: str) -> tuple[MemoryLog, tuple[Entry, ...]]:
        raise UserError(f"There is no session {session_id!r}: sessions are not kept here.")

    def latest(self, workspace: str) -> str | None:
        return None

    def resolve(self, text: str) -> str:
        raise UserError(f"There is no session {text!r}: sessions are not kept here.")

    def origin(self, session_id: str) -> Origin | None:
        return None

    def close(self) -> None:
        pass


class ReadOnlySessions:
    """Past sessions can be read; what is added to them, and new ones, end with the process."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self.results = OverlaidResults(store.results)
        self.contents = OverlaidContents(store.contents)

    def create(self, now: float) -> MemoryLog:
        return MemoryLog(create_session_id(now))

    def resume(self, session_id: str) -> tuple[MemoryLog, tuple[Entry, ...]]:
        return MemoryLog(session_id), self._store.read(session_id).entries

    def latest(self, workspace: str) -> str | None:
        return self._store.latest(workspace)

    def resolve(self, text: str) -> str:
        return self._store.resolve(text)

    def origin(self, session_id: str) -> Origin | None:
        return self._store.origin(session_id)

    def close(self) -> None:
        self._store.close()


def open_store(on_problem: OnProblem) -> SessionStore:
    """The user's sessions, for commands that are about nothing else. Raises StoreUnavailable."""
    try:
        folder = state_folder()
    except NoFolder as error:
        raise StoreUnavailable(f"Sessions cannot be kept: {error}.") from error
    return SessionStore(folder, on_problem)


def open_sessions(on_problem: OnProblem) -> Sessions:
    """The user's sessions; where they cannot be kept it says so and keeps them in memory. Never raises."""
    try:
        store = open_store(on_problem)
    except StoreUnavailable as error:
        on_problem(f"{error.message} This session is not saved.")
        return MemorySessions()
    if store.writable:
        return store
    on_problem(f"Sessions cannot be kept: {store.path} cannot be written to. This session is not saved.")
    return ReadOnlySessions(store)
