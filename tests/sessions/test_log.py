"""A session's log: kept when `emit` returns, read back as it was, continued where it ends."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from pathlib import Path

import pytest
from support.session_logs import T0, conversation, place, started, turn_events, write, write_session

from agent_chat.core.errors import UserError
from agent_chat.core.events import Entry, ModelReplied, Notice, SessionEnded, SessionResumed, UnknownEvent
from agent_chat.sessions.store import SessionStore


async def test_an_entry_is_kept_when_emit_returns(store: SessionStore, folder: Path) -> None:
    log = store.create(T0)
    other = SessionStore(folder, lambda _: None)
    written: list[Entry] = []
    for entry in place(log.session_id, conversation(2)):
        await log.emit(entry)
        written.append(entry)
        assert other.read(log.session_id).entries == tuple(written)
    log.close()
    other.close()


async def test_entries_that_are_emitted_together_keep_their_order(store: SessionStore) -> None:
    log = store.create(T0)
    entries = place(log.session_id, [started(), *(Notice(message=str(number)) for number in range(50))])
    await asyncio.gather(*(log.emit(entry) for entry in entries))
    log.close()
    assert store.read(log.session_id).entries == tuple(entries)


def test_a_resumed_session_goes_on_where_it_ended(store: SessionStore) -> None:
    session_id, entries = write_session(store, 2)
    log, loaded = store.resume(session_id)
    assert loaded == tuple(entries)
    resumed = SessionResumed(program_version="1", model="m2", tools=())
    more = write(log, [resumed, *turn_events(3), SessionEnded(reason="eof")], after=loaded[-1])
    log.close()
    again = store.read(session_id)
    assert again.entries == (*entries, *more)
    assert [entry.seq for entry in again.entries] == list(range(1, len(again.entries) + 1))
    assert again.summary == store.list()[0]
    assert (again.summary.turns, again.summary.model, again.summary.ended) == (3, "m2", "eof")


def test_an_event_of_a_newer_version_survives(store: SessionStore, problems: list[str]) -> None:
    log = store.create(T0)
    future = UnknownEvent(type="from_the_future", body={"x": [1, {"y": None}]})
    entries = write(log, [started(), future])
    log.close()
    assert store.read(log.session_id).entries == tuple(entries)
    assert problems == []


def test_what_is_not_json_is_kept_as_far_as_it_can(store: SessionStore, problems: list[str]) -> None:
    log = store.create(T0)
    odd = ModelReplied(
        model="m",
        text="lone \ud800 surrogate",
        finish_reason="stop",
        usage=None,
        cost_usd=None,
        extras={"object": object(), "fine": 1},
        duration_s=0,
    )
    write(log, [started(), odd])
    log.close()
    kept = store.read(log.session_id).entries[-1].event
    assert isinstance(kept, ModelReplied)
    assert kept.text == "lone \ufffd surrogate"
    assert kept.extras["fine"] == 1
    assert problems == []


def test_what_cannot_be_written_costs_itself(store: SessionStore, problems: list[str]) -> None:
    log = store.create(T0)
    endless: dict[str, object] = {}
    endless["itself"] = endless
    odd = ModelReplied(
        model="m",
        text="x",
        finish_reason="stop",
        usage=None,
        cost_usd=None,
        extras=endless,
        duration_s=0,
    )
    entries = write(log, [started(), odd, *turn_events(1)])
    log.close()
    assert problems == []
    loaded = store.read(log.session_id)
    assert loaded.damaged == 1
    assert (loaded.entries[0], *loaded.entries[2:]) == (entries[0], *entries[2:])


def test_a_session_that_is_not_there_is_an_error_of_the_user(store: SessionStore) -> None:
    with pytest.raises(UserError, match="no session 'nope'"):
        store.resume("nope")
    with pytest.raises(UserError, match="no session"):
        store.resume("../../etc/passwd")


@pytest.mark.skipif(sys.platform == "win32", reason="file modes are of Unix")
def test_nobody_else_can_read_the_sessions(store: SessionStore, folder: Path) -> None:
    old = os.umask(0)
    try:
        open_folder = folder.parent / "open"
        with_others = SessionStore(open_folder, lambda _: None)
        log = with_others.create(T0)
        write(log, conversation(1))
        files = [path for path in open_folder.rglob("*") if path.is_file()]
        assert {path.name.split(".")[-1] for path in files} >= {"db", "db-wal", "lock"}
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
        assert stat.S_IMODE(open_folder.stat().st_mode) == 0o700
        log.close()
        with_others.close()
    finally:
        os.umask(old)
