"""Every event that this version knows comes out of the database as it went in."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from support.session_logs import T0, place, started

from agent_chat.core.events import Event, KnownEvent, UnknownEvent, dump_event, load_event
from agent_chat.sessions.store import SessionStore

Strategy = st.SearchStrategy[Any]

TEXT = st.text(max_size=40) | st.sampled_from(
    ["\x00", "\x1b[2J", "[/red]", "日本", "🧑‍🔧", "' OR 1=1", "\u2028"]
)
INTEGERS = st.integers(-(2**60), 2**60)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | INTEGERS | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def values(annotation: Any) -> Strategy:
    """Values that an annotation of an event's field allows."""
    simple: dict[Any, Strategy] = {
        str: TEXT,
        int: INTEGERS,
        float: FLOATS,
        bool: st.booleans(),
        types.NoneType: st.none(),
        Any: JSON,
    }
    if annotation in simple:
        return simple[annotation]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (types.UnionType, Union):
        return st.one_of([values(argument) for argument in arguments])
    if origin is dict:
        return st.dictionaries(values(arguments[0]), values(arguments[1]), max_size=3)
    if origin is tuple and arguments[-1] is ...:
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    if is_dataclass(annotation):
        hints = get_type_hints(annotation)
        made = {field.name: values(hints[field.name]) for field in fields(annotation)}
        return st.builds(cast("Callable[..., Any]", annotation), **made)
    raise AssertionError(f"no values known for {annotation!r}")


def events_of(kind: type[BaseModel]) -> st.SearchStrategy[Event]:
    hints = get_type_hints(kind)
    return cast(
        "st.SearchStrategy[Event]",
        st.builds(kind, **{name: values(hints[name]) for name in kind.model_fields}),
    )


KINDS = cast("tuple[type[BaseModel], ...]", get_args(KnownEvent))
UNKNOWN = st.builds(
    UnknownEvent,
    type=TEXT.map(lambda text: f"future_{text}"),
    body=st.dictionaries(TEXT.filter(lambda key: key != "type"), JSON, max_size=3),
)
EVENTS = st.one_of([*map(events_of, KINDS), UNKNOWN])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=30, deadline=None, derandomize=True)
@given(data=st.data())
def test_an_event_survives_json(kind: type[BaseModel], data: st.DataObject) -> None:
    event = data.draw(events_of(kind))
    assert load_event(dump_event(event)) == event


@settings(
    max_examples=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(events=st.lists(EVENTS, max_size=12))
def test_a_session_survives_the_database(tmp_path: Path, events: list[Event]) -> None:
    problems: list[str] = []
    store = SessionStore(tmp_path / "state", problems.append)
    log = store.create(T0)
    entries = place(log.session_id, [started(), *events])
    for entry in entries:
        log.append(entry)
    log.close()
    loaded = store.read(log.session_id)
    store.close()
    assert loaded.entries == tuple(entries)
    assert loaded.summary == log.summary
    assert problems == []
