"""Events survive JSON, also those that this version does not know."""

from __future__ import annotations

import json

import pytest

from agent_chat.core.events import (
    Entry,
    ModelReplied,
    ToolStarted,
    UnknownEvent,
    UserSaid,
    dump_event,
    load_event,
)
from agent_chat.core.messages import ToolCall
from agent_chat.core.model import Usage


def test_an_event_survives_json() -> None:
    event = ModelReplied(
        model="m",
        text="日本 [/red] \x1b[2J",
        calls=(ToolCall("c1", "echo", '{"text": 1}'),),
        finish_reason="tool_calls",
        usage=Usage(3, 1, 2, 0),
        cost_usd=None,
        extras={"thinking_blocks": [{"type": "thinking", "signature": "s=="}]},
        duration_s=0.5,
    )
    assert load_event(dump_event(event)) == event


def test_an_unknown_type_is_kept_as_it_is() -> None:
    event = load_event('{"type": "from_the_future", "x": [1, {"y": null}]}')
    assert event == UnknownEvent(type="from_the_future", body={"x": [1, {"y": None}]})
    assert json.loads(dump_event(event)) == {"type": "from_the_future", "x": [1, {"y": None}]}


def test_a_field_of_a_newer_version_does_not_disturb() -> None:
    assert load_event('{"type": "user_message", "text": "hi", "mood": "good"}') == UserSaid(text="hi")


@pytest.mark.parametrize(
    "damaged", ["", "{not json}", "\0\0\0", "[]", '"text"', "{}", '{"type": 3}', '{"type": "user_message"}']
)
def test_damage_is_a_value_error(damaged: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        load_event(damaged)


def test_an_entry_is_one_line_with_its_place() -> None:
    event = ToolStarted(
        call_id="c1", name="echo", arguments={"text": "a\nb"}, effect="read", idempotency_key="k"
    )
    line = Entry(7, 1_700_000_000.25, "s1", 2, 1, event).to_json()
    assert "\n" not in line
    record = json.loads(line)
    assert (record["seq"], record["session_id"], record["turn"], record["iteration"]) == (7, "s1", 2, 1)
    assert record["at"] == "2023-11-14T22:13:20.250+00:00"
    assert (record["type"], record["arguments"]) == ("tool_started", {"text": "a\nb"})
