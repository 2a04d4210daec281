"""What cannot be written now is said once, kept, and written when that is possible again."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from support import session_worker
from support.process import clean_env, run
from support.session_logs import (
    DATABASE,
    T0,
    conversation,
    place,
    started,
    turn_events,
    write,
    write_session,
)

from agent_chat.core.errors import UserError
from agent_chat.core.events import Notice
from agent_chat.sessions import schema
from agent_chat.sessions.store import (
    MemorySessions,
    SessionStore,
    StoreUnavailable,
    open_sessions,
    open_store,
)

TESTS = Path(session_worker.__file__).parent.parent
posix = pytest.mark.skipif(sys.platform == "win32", reason="of Unix")


@posix
def test_a_full_disk_loses_nothing_once_there_is_room_again(folder: Path, home: Path) -> None:
    env = clean_env(home, PYTHONPATH=str(TESTS))
    done = run([sys.executable, session_worker.__file__, "full", folder], env=env)
    assert done.code == 0, done.err
    session_id, last, *problems = done.out.splitlines()
    assert len(problems) == 1
    assert problems[0].startswith(f"The session cannot be saved: {folder / DATABASE}: ")
    store = SessionStore(folder, lambda _: None)
    entries = store.read(session_id).entries
    store.close()
    assert len(entries) == int(last)
    assert entries == tuple(place(session_id, conversation(60))[: int(last)])


def test_a_database_that_stays_locked(folder: Path, problems: list[str]) -> None:
    store = SessionStore(folder, problems.append, patience=0.05)
    log = store.create(T0)
    entries = write(log, [started(), *turn_events(1)])
    blocker = sqlite3.connect(folder / DATABASE, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    entries += write(log, turn_events(2), after=entries[-1])
    [told] = problems
    assert told == (
        f"The session cannot be saved: {folder / DATABASE}: another process keeps it locked. "
        "It goes on, and is saved as soon as that is possible."
    )
    blocker.execute("ROLLBACK")
    blocker.close()
    log.close()
    assert store.read(log.session_id).entries == tuple(entries)
    assert store.list() == [log.summary]
    assert len(problems) == 1
    store.close()


def test_what_could_never_be_saved_is_counted_at_the_end(folder: Path, problems: list[str]) -> None:
    store = SessionStore(folder, problems.append, patience=0.01)
    log = store.create(T0)
    blocker = sqlite3.connect(folder / DATABASE, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    write(log, [started(), *(Notice(message="x") for _ in range(1500))])
    log.close()
    log.close()
    assert problems[1:] == [f"The last 1,501 events of session {log.session_id} could not be saved."]
    blocker.close()
    store.close()


def test_results_go_to_memory_when_they_cannot_be_stored(folder: Path, problems: list[str]) -> None:
    store = SessionStore(folder, problems.append, patience=0.01)
    kept = store.results.put("before")
    blocker = sqlite3.connect(folder / DATABASE, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    ids = [store.results.put(text) for text in ("one", "two")]
    assert [store.results.get(one) for one in (kept, *ids)] == ["before", "one", "two"]
    assert len(problems) == 1
    blocker.close()
    store.close()


def test_a_database_of_a_newer_version_is_left_alone(folder: Path, problems: list[str]) -> None:
    SessionStore(folder, problems.append).close()
    connection = sqlite3.connect(folder / DATABASE)
    connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    connection.close()
    with pytest.raises(StoreUnavailable, match="written by a newer version"):
        SessionStore(folder, problems.append)
    assert problems == []


def with_folder(monkeypatch: pytest.MonkeyPatch, path: str | Path) -> None:
    monkeypatch.setenv("AGENT_CHAT_STATE_DIR", str(path))


def test_r43_without_a_folder_a_session_lives_in_memory(
    monkeypatch: pytest.MonkeyPatch, problems: list[str]
) -> None:
    with_folder(monkeypatch, "/proc/nope")
    sessions = open_sessions(problems.append)
    assert isinstance(sessions, MemorySessions)
    log = sessions.create(T0)
    assert sessions.results.get(sessions.results.put("x")) == "x"
    log.close()
    assert sessions.latest("/w") is None
    for find in (sessions.resolve, sessions.resume):
        with pytest.raises(UserError, match="not kept here"):
            find("x")
    sessions.close()
    assert len(problems) == 1
    assert "/proc/nope" in problems[0]
    assert problems[0].endswith("This session is not saved.")
    with pytest.raises(StoreUnavailable) as error:
        open_store(problems.append)
    assert "AGENT_CHAT_STATE_DIR" in error.value.hint


RESUME = """
from support.session_logs import *
from agent_chat.sessions.store import open_sessions
sessions = open_sessions(lambda _: None)
log, entries = sessions.resume(sessions.latest("/w"))
assert list(entries) == place(log.session_id, conversation(1))
assert sessions.resolve(log.session_id[:8]) == log.session_id
assert sessions.results.get(RESULT) == "kept"
assert sessions.results.get(sessions.results.put("new")) == "new"
print(type(log).__name__)
"""
ASK = """
import asyncio
from support.session_logs import *
from agent_chat.sessions.store import open_sessions
problems = []
sessions = open_sessions(problems.append)
log = sessions.create(T0)
for entry in place(log.session_id, conversation(2)):
    asyncio.run(log.emit(entry))
assert sessions.results.get(sessions.results.put("x" * 100_000)) == "x" * 100_000
log.close()
sessions.close()
print(type(log).__name__, len(problems))
print(*problems, sep="\\n")
"""


AS_SOMEBODY = ("setpriv", "--reuid", "54321", "--clear-groups")
"""Runs a program as a user without an entry among the users."""
as_root = pytest.mark.skipif(
    sys.platform == "win32" or os.getuid() != 0 or shutil.which("setpriv") is None,
    reason="only root can run a program as somebody else",
)


def without_home(tmp_path: Path) -> dict[str, str]:
    env = clean_env(tmp_path, PYTHONPATH=str(TESTS), HOME=None)
    return {name: value for name, value in env.items() if not name.startswith("XDG_")}


@posix
def test_r43_a_home_that_is_not_there(tmp_path: Path) -> None:
    env = without_home(tmp_path) | {"HOME": "/proc/nope"}
    done = run([sys.executable, "-c", ASK], env=env, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("MemoryLog 1\nSessions cannot be kept: /proc/nope/")


@as_root
def test_r43_a_user_without_a_home(somewhere: Path) -> None:
    somewhere.chmod(0o777)
    done = run([*AS_SOMEBODY, sys.executable, "-c", ASK], env=without_home(somewhere), cwd=somewhere)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("MemoryLog 1\nSessions cannot be kept: ")
    assert list(somewhere.iterdir()) == []


@as_root
@pytest.mark.parametrize("filled", [False, True])
def test_r43_a_folder_of_somebody_else(somewhere: Path, filled: bool) -> None:
    result = ""
    if filled:
        store = SessionStore(somewhere, print)
        write_session(store, 1)
        result = store.results.put("kept")
        store.close()
        for path in somewhere.rglob("*"):
            path.chmod(0o555 if path.is_dir() else 0o444)
    somewhere.chmod(0o555)
    env = clean_env(somewhere, PYTHONPATH=str(TESTS), AGENT_CHAT_STATE_DIR=str(somewhere))
    done = run([*AS_SOMEBODY, sys.executable, "-c", ASK], env=env)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("MemoryLog 1\nSessions cannot be kept: "), done.out
    read = "from agent_chat.sessions.store import *\nprint(len(open_store(print).list()))"
    done = run([*AS_SOMEBODY, sys.executable, "-c", read], env=env)
    if filled:
        assert (done.out, done.err) == ("1\n", "")
        resume = RESUME.replace("RESULT", repr(result))
        done = run([*AS_SOMEBODY, sys.executable, "-c", resume], env=env)
        assert (done.out, done.err) == ("MemoryLog\n", "")
    else:
        assert "StoreUnavailable" in done.err


@pytest.fixture
def somewhere() -> Iterator[Path]:
    """A folder that every user can reach."""
    with TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o755)
        yield path
