"""Sessions and the processes that own them: one at a time, whatever ends the owner."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from support import session_worker
from support.process import Program, clean_env
from support.session_logs import (
    DATABASE,
    EVENTS_OF_A_TURN,
    T0,
    conversation,
    place,
    turn_events,
    write,
    write_session,
)

from agent_chat.core.errors import UserError
from agent_chat.core.events import Event
from agent_chat.sessions.ownership import STALE_AFTER, Ownership, SessionInUse, sweep
from agent_chat.sessions.store import SessionStore

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is of Unix")
TESTS = Path(session_worker.__file__).parent.parent


def worker(home: Path, *args: str | Path) -> Program:
    env = clean_env(home, PYTHONPATH=str(TESTS))
    return Program([sys.executable, session_worker.__file__, *args], env=env)


def test_r42_a_second_process_is_refused_and_told_who_the_owner_is(
    store: SessionStore, folder: Path, home: Path
) -> None:
    session_id, entries = write_session(store, 1)
    with worker(home, "hold", folder, session_id) as owner:
        owner.wait_for_output("held")
        with pytest.raises(SessionInUse, match=f"open in process {owner.pid}") as refused:
            store.resume(session_id)
        assert isinstance(refused.value, UserError)
        assert refused.value.pid == owner.pid
        # Both go on: the refused one in a session of its own.
        other, others = write_session(store, 2)
        owner.send(b"\n")
        owner.wait_for_output("done")
        assert owner.wait().code == 0
    expected = place(session_id, conversation(3))
    assert store.read(session_id).entries == tuple(expected)
    assert expected[: len(entries)] == entries
    assert store.read(other).entries == tuple(others)
    log, _ = store.resume(session_id)
    log.close()


def test_r42_a_dead_owner_does_not_keep_the_lock(store: SessionStore, folder: Path, home: Path) -> None:
    session_id, _ = write_session(store, 1)
    with worker(home, "hold", folder, session_id) as owner:
        owner.wait_for_output("held")
        owner.signal(signal.SIGKILL)
        owner.wait()
    log, loaded = store.resume(session_id)
    assert loaded == tuple(place(session_id, conversation(2)))
    more = write(log, turn_events(3), after=loaded[-1])
    log.close()
    assert store.read(session_id).entries == (*loaded, *more)
    assert list((folder / "locks").iterdir()) == []


def test_r42_one_process_cannot_open_a_session_twice(store: SessionStore) -> None:
    log = store.create(T0)
    write(log, conversation(1))
    with pytest.raises(SessionInUse, match=f"process {os.getpid()}"):
        store.resume(log.session_id)
    log.close()
    store.resume(log.session_id)[0].close()


def test_r42_many_processes_at_once_do_not_disturb_each_other(folder: Path, home: Path) -> None:
    with ExitStack() as stack:
        # Also the making of the database is theirs.
        programs = [stack.enter_context(worker(home, "once", folder)) for _ in range(20)]
        results = [program.wait(60) for program in programs]
    assert [(result.code, result.err) for result in results] == [(0, "")] * 20
    ids = {result.out.strip() for result in results}
    assert len(ids) == 20
    store = SessionStore(folder, lambda _: None)
    assert {summary.id for summary in store.list()} == ids
    for session_id in ids:
        assert store.read(session_id).entries == tuple(place(session_id, conversation(1)))
    store.close()
    assert_sound(folder)


def test_r42_many_appenders_at_once_lose_nothing(folder: Path, home: Path) -> None:
    with ExitStack() as stack:
        programs = [stack.enter_context(worker(home, "append", folder)) for _ in range(6)]
        for program in programs:
            program.wait_for_output("\n100\n", within=60)
        written = [killed(program) for program in programs]
    store = SessionStore(folder, lambda _: None)
    for session_id, seq in written:
        assert_continuous(store, session_id, seq)
    store.close()
    assert_sound(folder)


def test_a_kill_at_any_moment_loses_nothing_that_was_kept(folder: Path, home: Path) -> None:
    chance = random.Random(42)
    for _ in range(20):
        with worker(home, "append", folder) as program:
            program.wait_for_output(f"\n{chance.randint(1, 400)}\n", within=60)
            session_id, seq = killed(program)
        store = SessionStore(folder, lambda _: None)
        log, loaded = store.resume(session_id)
        assert_continuous(store, session_id, seq)
        more = write(log, turn_events(loaded[-1].turn + 1), after=loaded[-1])
        log.close()
        assert store.read(session_id).entries == (*loaded, *more)
        store.close()
        assert_sound(folder)


def killed(program: Program) -> tuple[str, int]:
    """Kills an appender; gives its session and the last seq of which it said that it is kept."""
    program.signal(signal.SIGKILL)
    session_id, *seqs = program.wait().out.split("\n")[:-1]
    return session_id, int(seqs[-1])


def assert_continuous(store: SessionStore, session_id: str, seq: int) -> None:
    """All entries up to `seq` are there, once, in order; at most one more, of which nobody was told yet."""
    entries = store.read(session_id).entries
    assert seq <= len(entries) <= seq + 1
    turns = len(entries) // EVENTS_OF_A_TURN + 1
    events: list[Event] = conversation(turns)
    assert entries == tuple(place(session_id, events)[: len(entries)])


def assert_sound(folder: Path) -> None:
    connection = sqlite3.connect(folder / DATABASE)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


def test_lock_files_of_killed_processes_are_swept_away_but_never_those_in_use(tmp_path: Path) -> None:
    locks = tmp_path / "locks"
    held = Ownership.acquire(locks, "held", lambda _: None)
    fresh, stale = locks / "fresh.lock", locks / "stale.lock"
    for path in (fresh, stale):
        path.touch()
    now = fresh.stat().st_mtime
    for path in (locks / "held.lock", stale):
        os.utime(path, (now - STALE_AFTER - 1, now - STALE_AFTER - 1))
    sweep(locks, now)
    assert {path.name for path in locks.iterdir()} == {"held.lock", "fresh.lock"}
    held.release()
    assert {path.name for path in locks.iterdir()} == {"fresh.lock"}
    held.release()
    Ownership.acquire(locks, "fresh", lambda _: None).release()
    assert list(locks.iterdir()) == []


def test_a_place_without_lock_files_is_said_and_does_not_stop_the_session(tmp_path: Path) -> None:
    (tmp_path / "locks").write_text("a file where the folder should be")
    problems: list[str] = []
    owned = Ownership.acquire(tmp_path / "locks", "x", problems.append)
    owned.release()
    assert len(problems) == 1
    assert "cannot be locked" in problems[0]
