"""Past sessions are found by name and place, and listed with what they were about."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.session_logs import T0, conversation, started, turn_events, write, write_session

from agent_chat.core.errors import UserError
from agent_chat.core.events import SessionEnded
from agent_chat.core.model import Usage
from agent_chat.sessions.ids import create_session_id, is_session_id
from agent_chat.sessions.store import SessionStore
from agent_chat.sessions.summary import TITLE_LENGTH


def test_ids_sort_by_time_and_are_names_of_files() -> None:
    ids = [create_session_id(T0 + second) for second in range(0, 100_000, 997)]
    assert ids == sorted(ids)
    assert all(is_session_id(one) for one in ids)
    assert create_session_id(1_796_069_532.0).startswith("20261130-201212-")
    assert not any(is_session_id(text) for text in ("", "../x", "a/b", "-r", "A", "a.b", "x" * 65))


def test_a_summary_says_what_a_session_was(store: SessionStore) -> None:
    log = store.create(T0)
    entries = write(log, [started("/w", "big"), *turn_events(1, "\n  first line \nsecond"), *turn_events(2)])
    write(log, [SessionEnded(reason="end_chat")], after=entries[-1])
    log.close()
    [summary] = store.list()
    assert summary == log.summary
    assert summary.id == log.session_id
    assert (summary.started, summary.last) == (T0 + 1, T0 + entries[-1].seq + 1)
    assert (summary.workspace, summary.model, summary.title) == ("/w", "big", "first line")
    assert (summary.turns, summary.usage, summary.cost_usd) == (2, Usage(200, 40, 40, 0), 1.0)
    assert summary.ended == "end_chat"


def test_a_cost_that_is_unknown_once_stays_unknown(store: SessionStore) -> None:
    log = store.create(T0)
    write(log, [started(), *turn_events(1, cost_usd=None), *turn_events(2, cost_usd=0.5)])
    log.close()
    assert store.list()[0].cost_usd is None


def test_a_title_is_short_and_never_taken_apart_as_sql_or_markup(store: SessionStore) -> None:
    log = store.create(T0)
    write(log, [started(), *turn_events(1, "[red]'); DROP TABLE events; --\x1b[2J " + "x" * 200)])
    log.close()
    title = store.list()[0].title
    assert title.startswith("[red]'); DROP TABLE events; --\x1b[2J x")
    assert len(title) == TITLE_LENGTH


def test_the_latest_session_is_that_of_the_folder(store: SessionStore) -> None:
    first, _ = write_session(store, 1, workspace="/a", now=T0)
    second, entries = write_session(store, 2, workspace="/a", now=T0)
    other, _ = write_session(store, 3, workspace="/b", now=T0)
    assert store.latest("/a") == second
    assert store.latest("/b") == other
    assert store.latest("/c") is None
    log, _ = store.resume(first)
    write(log, turn_events(2) * 5, after=entries[-1])
    log.close()
    assert store.latest("/a") == first
    assert [summary.id for summary in store.list(2)] == [first, other]
    assert [summary.id for summary in store.list(workspace="/a")] == [first, second]


def test_a_session_is_meant_by_a_part_that_only_it_has(store: SessionStore) -> None:
    old, _ = write_session(store, 1, now=T0)
    new, _ = write_session(store, 1, now=T0 + 86_400)
    assert store.resolve(new) == new
    assert store.resolve(old[:8]) == old
    assert store.resolve(new.rpartition("-")[2]) == new
    with pytest.raises(UserError, match="beginning of 2 sessions") as ambiguous:
        store.resolve("20")
    assert old in ambiguous.value.message
    assert new in ambiguous.value.message
    with pytest.raises(UserError, match="no session") as unknown:
        store.resolve(old[:-1] + "!")
    assert old in unknown.value.hint
    with pytest.raises(UserError, match="no session ''"):
        store.resolve("")


def test_without_sessions_nothing_is_found(store: SessionStore) -> None:
    assert store.list() == []
    with pytest.raises(UserError) as error:
        store.resolve("x")
    assert error.value.hint == "There are no sessions yet."


def test_a_session_in_which_nothing_happened_is_no_session(store: SessionStore, folder: Path) -> None:
    store.create(T0).close()
    assert store.list() == []
    assert list((folder / "locks").iterdir()) == []


def test_reading_writes_nothing(store: SessionStore, folder: Path) -> None:
    session_id, _ = write_session(store, 3)
    store.close()
    before = (folder / "sessions.db").read_bytes()
    reader = SessionStore(folder, lambda _: None)
    assert len(reader.read(session_id).entries) == len(conversation(3))
    assert len(reader.list()) == 1
    reader.close()
    assert (folder / "sessions.db").read_bytes() == before
