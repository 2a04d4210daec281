"""A fork has what the session had up to a turn, goes on by itself, and says where it comes from."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from support.session_logs import (
    EVENTS_OF_A_TURN,
    T0,
    conversation,
    damage_row,
    turn_events,
    write,
    write_session,
)

from agent_chat.core.errors import UserError
from agent_chat.core.events import Entry
from agent_chat.sessions.fork import fork_session
from agent_chat.sessions.origins import Origin, origin_of
from agent_chat.sessions.store import SessionStore


def renamed(entries: list[Entry], session_id: str) -> tuple[Entry, ...]:
    return tuple(dataclasses.replace(entry, session_id=session_id) for entry in entries)


def test_a_fork_of_all_of_a_session(store: SessionStore) -> None:
    session_id, entries = write_session(store, 3)
    copy = fork_session(store, session_id, T0 + 5000)
    assert store.read(copy).entries == renamed(entries, copy)
    assert store.read(session_id).entries == tuple(entries)
    assert store.ask(lambda connection: origin_of(connection, copy)) == Origin(
        "fork", session_id, len(entries)
    )
    assert store.ask(lambda connection: origin_of(connection, session_id)) is None
    original, forked = store.read(session_id).summary, store.list()[0]
    assert forked == dataclasses.replace(original, id=copy, last=T0 + 5000)


def test_a_fork_before_a_turn_goes_on_from_there(store: SessionStore) -> None:
    session_id, entries = write_session(store, 3)
    copy = fork_session(store, session_id, T0, before_turn=3)
    log, loaded = store.resume(copy)
    assert loaded == renamed(entries[: 1 + 2 * EVENTS_OF_A_TURN], copy)
    more = write(log, turn_events(3, "otherwise"), after=loaded[-1])
    log.close()
    assert store.read(copy).entries == (*loaded, *more)
    assert store.read(copy).summary.turns == 3
    assert store.read(session_id).entries == tuple(entries)
    before_all = fork_session(store, session_id, T0, before_turn=1)
    assert len(store.read(before_all).entries) == 1


def test_a_turn_or_session_that_is_not_there(store: SessionStore) -> None:
    session_id, _ = write_session(store, 2)
    with pytest.raises(UserError, match="no turn 7") as caught:
        fork_session(store, session_id, T0, before_turn=7)
    assert caught.value.hint == "It has turns 1 to 2."
    with pytest.raises(UserError, match="no session 'nope'"):
        fork_session(store, "nope", T0)
    assert [summary.id for summary in store.list()] == [session_id]


def test_damaged_entries_are_copied_as_they_are(store: SessionStore, folder: Path) -> None:
    session_id, _ = write_session(store, 2)
    damage_row(folder, 5, "body", "{half")
    copy = fork_session(store, session_id, T0)
    assert store.read(copy).damaged == 1
    assert len(store.read(copy).entries) == len(conversation(2))


def test_a_session_that_runs_can_be_forked(store: SessionStore) -> None:
    log = store.create(T0)
    entries = write(log, conversation(1))
    copy = fork_session(store, log.session_id, T0)
    write(log, turn_events(2), after=entries[-1])
    log.close()
    assert store.read(copy).entries == renamed(entries, copy)
