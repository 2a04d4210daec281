"""Sessions are deleted with all that only they had; what others have stays."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from support.session_logs import DATABASE, T0, conversation, started, turn_events, write, write_session

from agent_chat.core.errors import UserError
from agent_chat.core.events import Event, FileChanged, ToolFinished, UserSaid
from agent_chat.sessions.fork import fork_session
from agent_chat.sessions.ownership import SessionInUse
from agent_chat.sessions.removal import delete_sessions, not_in_use, sizes
from agent_chat.sessions.search import search_sessions
from agent_chat.sessions.search_index import FILE_NAME
from agent_chat.sessions.store import SessionStore


def finished(stored: str | None) -> ToolFinished:
    return ToolFinished(call_id="c", name="echo", ok=True, content="…", size=9, stored=stored, duration_s=0.1)


def changed(before: str) -> FileChanged:
    return FileChanged(
        call_id="c", workspace="/w", path="a", before=before, after="0" * 64, added=1, removed=1
    )


def session_with(store: SessionStore, *events: Event) -> str:
    log = store.create(T0)
    write(log, [started(), *turn_events(1), *events])
    log.close()
    return log.session_id


def test_a_deleted_session_is_gone_and_the_others_are_not(store: SessionStore) -> None:
    one, _ = write_session(store, 2)
    two, entries = write_session(store, 2)
    delete_sessions(store, [one])
    with pytest.raises(UserError, match="no session"):
        store.read(one)
    assert [summary.id for summary in store.list()] == [two]
    assert store.read(two).entries == tuple(entries)


def test_what_only_deleted_sessions_had_is_freed(store: SessionStore) -> None:
    own, shared = store.results.put("own " * 999), store.results.put("shared " * 999)
    content, kept = store.contents.put(b"own"), store.contents.put(b"kept")
    one = session_with(store, finished(own), finished(shared), changed(content), changed(kept))
    two = session_with(store, finished(shared), changed(kept))
    copy = fork_session(store, two, T0)
    pending = store.results.put("no event names it yet")
    delete_sessions(store, [one, two])
    assert (store.results.get(own), store.contents.get(content)) == (None, None)
    assert store.results.get(shared) == "shared " * 999
    assert store.contents.get(kept) == b"kept"
    assert store.results.get(pending) == "no event names it yet"
    delete_sessions(store, [copy])
    assert (store.results.get(shared), store.contents.get(kept)) == (None, None)


def test_the_disk_gets_its_space_back_and_the_words_are_gone(store: SessionStore, folder: Path) -> None:
    keep = session_with(store)
    big = session_with(
        store, UserSaid(text="Xylophone " * 9000), finished(store.results.put("Xylophone " * 90_000))
    )
    assert len(search_sessions(store, "xylophone", 9)) == 1
    freed = delete_sessions(store, [big])
    assert freed > 900_000
    assert (folder / DATABASE).stat().st_size < 100_000
    for path in folder.iterdir():
        assert not path.is_file() or b"ylophon" not in path.read_bytes(), path
    assert search_sessions(store, "xylophone", 9) == []
    assert [found.session.id for found in search_sessions(store, "answer", 9)] == [keep]


def test_a_database_that_was_written_anew_can_still_be_recovered(
    store: SessionStore, folder: Path, problems: list[str]
) -> None:
    """Its tables have to begin where those of a new one do."""
    one, _ = write_session(store, 60)
    two, entries = write_session(store, 3)
    result = store.results.put("x" * 5000)
    delete_sessions(store, [one])
    store.close()
    path = folder / DATABASE
    path.write_bytes(b"\xff" * 4096 + path.read_bytes()[4096:])
    again = SessionStore(folder, problems.append)
    assert again.read(two).entries == tuple(entries)
    assert again.results.get(result) == "x" * 5000
    again.close()


def test_a_session_in_use_is_refused_and_nothing_is_deleted(store: SessionStore, folder: Path) -> None:
    free, _ = write_session(store, 1)
    log = store.create(T0)
    write(log, conversation(1))
    other = SessionStore(folder, lambda _: None)
    with pytest.raises(SessionInUse, match=str(os.getpid())):
        delete_sessions(other, [free, log.session_id])
    assert {summary.id for summary in other.list()} == {free, log.session_id}
    assert list(not_in_use(other, [free, log.session_id])) == [free]
    log.close()
    delete_sessions(other, [free, log.session_id, free])
    assert other.list() == []
    assert list((folder / "locks").iterdir()) == []
    other.close()


def test_a_session_that_is_not_there_deletes_nothing(store: SessionStore) -> None:
    session_id, _ = write_session(store, 1)
    with pytest.raises(UserError, match="no session 'nope'"):
        delete_sessions(store, [session_id, "nope"])
    assert [summary.id for summary in store.list()] == [session_id]


def test_while_others_read_the_session_is_deleted_all_the_same(store: SessionStore, folder: Path) -> None:
    session_id, _ = write_session(store, 300)
    reader = sqlite3.connect(folder / DATABASE, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM events").fetchone()
    quick = SessionStore(folder, lambda _: None, patience=0.05)
    delete_sessions(quick, [session_id])
    assert quick.list() == []
    quick.close()
    reader.close()


def test_the_size_of_a_session_is_that_of_its_events_and_results(store: SessionStore) -> None:
    result = store.results.put("é" * 50_000)
    small, _ = write_session(store, 1)
    large = session_with(store, finished(result), finished(result))
    found = {size.session.id: size.bytes for size in sizes(store)}
    assert 500 < found[small] < 5000
    assert 100_000 + found[small] < found[large] < 102_000 + found[small]


def test_the_words_of_a_deleted_session_are_gone_although_no_search_was_made_since(
    store: SessionStore, folder: Path
) -> None:
    session_id, _ = write_session(store, 1)
    delete_sessions(store, [session_id])
    assert not (folder / FILE_NAME).exists()


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is of Unix")
def test_killed_while_deleting_it_is_all_there_or_all_gone(folder: Path) -> None:
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from agent_chat.sessions.store import SessionStore\n"
        "from agent_chat.sessions import removal\n"
        "store = SessionStore(Path(sys.argv[1]), print)\n"
        "store.change(lambda c: (c.execute('DELETE FROM events'), os.kill(os.getpid(), 9)))\n"
    )
    store = SessionStore(folder, lambda _: None)
    session_id, entries = write_session(store, 3)
    store.close()
    done = subprocess.run([sys.executable, "-c", program, str(folder)], check=False)
    assert done.returncode == -9
    store = SessionStore(folder, lambda _: None)
    assert store.read(session_id).entries == tuple(entries)
    store.close()
