"""What is exported as JSON comes back as it was, and nothing else is taken in."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.session_logs import T0, started, turn_events, write, write_session

from agent_chat.core.errors import UserError
from agent_chat.core.events import (
    ChangeUndone,
    Event,
    ModelReplied,
    Notice,
    ToolFinished,
    UnknownEvent,
    UserSaid,
)
from agent_chat.core.messages import ToolCall
from agent_chat.core.model import Usage
from agent_chat.sessions.origins import Origin, origin_of
from agent_chat.sessions.store import SessionStore
from agent_chat.sessions.transfer import NotASession, import_session, read_exported, to_json

TEXT = st.text(max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
EVENTS = st.one_of(
    st.builds(UserSaid, text=TEXT),
    st.builds(Notice, message=TEXT),
    st.builds(
        ModelReplied,
        model=TEXT,
        text=TEXT,
        calls=st.lists(st.builds(ToolCall, TEXT, TEXT, TEXT), max_size=2).map(tuple),
        finish_reason=st.just("stop"),
        usage=st.none() | st.builds(Usage, st.integers(0, 9), st.just(0), st.integers(0, 9), st.just(0)),
        cost_usd=st.none() | st.floats(0, 9),
        extras=st.dictionaries(TEXT, JSON, max_size=2),
        duration_s=st.floats(0, 9),
    ),
    st.builds(
        UnknownEvent,
        type=TEXT.map(lambda text: f"x-{text}"),
        body=st.dictionaries(TEXT.filter(lambda key: key != "type") | st.sampled_from(["seq", "at"]), JSON),
    ),
    st.builds(ChangeUndone, change=st.integers(1, 9), path=TEXT, before=st.none(), after=st.none()),
)


@given(st.lists(EVENTS, min_size=1, max_size=8))
def test_what_is_exported_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, events: list[Event]
) -> None:
    folder = tmp_path_factory.mktemp("state")
    here, there = (SessionStore(folder / name, lambda _: None) for name in ("here", "there"))
    log = here.create(T0 + 0.123456789)
    write(log, [started(), *events])
    log.close()
    kept = here.read(log.session_id)
    exported = to_json(kept, here.results)
    assert import_session(there, read_exported(exported.encode()), T0) == log.session_id
    assert there.read(log.session_id) == kept
    assert to_json(there.read(log.session_id), there.results) == exported
    here.close()
    there.close()


def test_an_id_that_is_taken_is_not_overwritten(store: SessionStore) -> None:
    session_id, entries = write_session(store, 2)
    exported = read_exported(to_json(store.read(session_id), store.results).encode())
    log, loaded = store.resume(session_id)
    more = write(log, turn_events(3), after=loaded[-1])
    log.close()
    new = import_session(store, exported, T0)
    assert new != session_id
    assert store.read(session_id).entries == (*entries, *more)
    assert [entry.event for entry in store.read(new).entries] == [entry.event for entry in entries]
    assert {entry.session_id for entry in store.read(new).entries} == {new}
    assert store.ask(lambda connection: origin_of(connection, new)) == Origin(
        "import", session_id, len(entries)
    )


def test_an_imported_session_goes_on(store: SessionStore, tmp_path: Path) -> None:
    session_id, entries = write_session(store, 1)
    there = SessionStore(tmp_path / "there", lambda _: None)
    import_session(there, read_exported(to_json(store.read(session_id), store.results).encode()), T0)
    log, loaded = there.resume(session_id)
    more = write(log, turn_events(2), after=loaded[-1])
    log.close()
    assert there.read(session_id).entries == (*entries, *more)
    there.close()


def test_whole_results_come_along(store: SessionStore, tmp_path: Path) -> None:
    result = store.results.put("long\n" * 999)
    log = store.create(T0)
    finished = ToolFinished(
        call_id="c", name="echo", ok=True, content="…", size=9, stored=result, duration_s=0.1
    )
    write(log, [started(), finished])
    log.close()
    there = SessionStore(tmp_path / "there", lambda _: None)
    import_session(there, read_exported(to_json(store.read(log.session_id), store.results).encode()), T0)
    assert there.results.get(result) == "long\n" * 999
    there.close()


def valid() -> dict[str, Any]:
    event = {"seq": 1, "at": T0, "turn": 0, "iteration": 0, "event": {"type": "notice", "message": "x"}}
    return {
        "schema_version": 1,
        "type": "session",
        "session": {"id": "20260101-000000-abcd"},
        "events": [event, event | {"seq": 2}],
        "results": {},
    }


def set_at(*path: str | int, to: object) -> Callable[[dict[str, Any]], None]:
    def change(value: Any) -> None:
        for key in path[:-1]:
            value = value[key]
        value[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (set_at("type", to="result"), 'its "type" is not "session"'),
        (set_at("schema_version", to="1"), "schema_version is not a whole number"),
        (set_at("session", to=None), "session is not an object"),
        (set_at("session", "id", to="../../etc/passwd"), "session.id is not the id of a session"),
        (set_at("session", "id", to=7), "session.id is not the id of a session"),
        (set_at("events", to=[]), "it has no events"),
        (set_at("events", to={"a": 1}), "it has no events"),
        (set_at("events", 1, to="x"), r"events\[1\] is not an object"),
        (set_at("events", 1, "seq", to=1), r"events\[1\].seq is out of order"),
        (set_at("events", 1, "seq", to=2**32), r"events\[1\].seq is out of order"),
        (set_at("events", 0, "seq", to=0), r"events\[0\].seq is out of order"),
        (set_at("events", 0, "seq", to=True), r"events\[0\].seq is not a whole number"),
        (set_at("events", 0, "at", to="2026"), r"events\[0\].at is no time"),
        (set_at("events", 0, "at", to=float("nan")), r"events\[0\].at is no time"),
        (set_at("events", 0, "turn", to=-1), r"events\[0\].turn is not a whole number"),
        (set_at("events", 0, "event", to=[]), r"events\[0\].event is not an object"),
        (set_at("events", 0, "event", to={}), r"events\[0\].event has no type"),
        (set_at("events", 0, "event", to={"type": "notice"}), r"events\[0\].event is no valid 'notice'"),
        (set_at("results", to=[]), "results is not an object"),
        (set_at("results", "0123456789ab", to="x"), "results.* is not the text of that id"),
        (set_at("results", "", to="x"), "results.* is not the text of that id"),
    ],
)
def test_what_is_wrong_is_named(change: Callable[[dict[str, Any]], None], problem: str) -> None:
    value = copy.deepcopy(valid())
    assert len(read_exported(json.dumps(value).encode()).entries) == 2
    change(value)
    with pytest.raises(NotASession, match=problem):
        read_exported(json.dumps(value).encode())


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "it is no JSON"),
        (b"\xff\xfe{}", "it is not UTF-8"),
        (b"[" * 100_000, "it is nested too deeply|it is no JSON"),
        (b"[]", "the top level is not an object"),
        (b"{", "it is no JSON"),
    ],
)
def test_what_is_no_json_is_no_session(data: bytes, problem: str) -> None:
    with pytest.raises(NotASession, match=problem):
        read_exported(data)


def test_a_newer_format_is_said(store: SessionStore) -> None:
    value = valid() | {"schema_version": 2}
    with pytest.raises(UserError, match="newer version"):
        read_exported(json.dumps(value).encode())
    assert store.list() == []
