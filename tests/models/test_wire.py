"""Our values as OpenAI's chat completions, and what a body costs."""

from __future__ import annotations

import json
from typing import Any

from support.chat_models import ECHO, query

from agent_chat.core.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from agent_chat.core.model import Query
from agent_chat.models import wire
from agent_chat.models.wire import BodyEncoder, message_dict

CALL = ToolCall("c1", "echo", '{"text":"a"}')
HISTORY: tuple[Message, ...] = (
    SystemMessage("s"),
    UserMessage("ü"),
    AssistantMessage("", (CALL,), "m"),
    ToolMessage("c1", "echo", "a"),
)


def encoder() -> BodyEncoder:
    return BodyEncoder("m", "m", "max_tokens")


def body(encoder: BodyEncoder, asked: Query, **parameters: Any) -> dict[str, Any]:
    return json.loads(encoder.body(asked, parameters, frozenset()))


def test_a_body_holds_the_whole_query() -> None:
    sent = body(encoder(), query(*HISTORY), temperature=0.2)
    function = {"name": "echo", "arguments": '{"text":"a"}'}
    tool = {"name": "echo", "description": ECHO.description, "parameters": ECHO.parameters}
    assert sent == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.2,
        "tools": [{"type": "function", "function": tool}],
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "ü"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "a"},
        ],
    }


def test_a_body_without_tools_names_none() -> None:
    sent = body(encoder(), Query((UserMessage("hi"),), (), "none"))
    assert "tools" not in sent
    assert "tool_choice" not in sent


def test_what_differs_between_queries_stands_behind_the_messages() -> None:
    shared, asked = encoder(), query(*HISTORY)
    first = shared.body(asked, {}, frozenset())
    summary = Query((*HISTORY, UserMessage("sum up")), (ECHO,), "none", 80)
    second = shared.body(summary, {}, frozenset())
    assert first.endswith(b"]}")
    assert second.startswith(first[:-2])
    assert json.loads(second)["tool_choice"] == "none"
    assert json.loads(second)["max_tokens"] == 80


def test_every_message_is_encoded_once() -> None:
    """Messages that are the same objects as before cost nothing: they are not even looked at."""

    class Unreadable(str):
        __slots__ = ()

        def isascii(self) -> bool:
            raise AssertionError("encoded again")

    shared = encoder()
    first = shared.body(query(*HISTORY), {}, frozenset())
    for message in HISTORY:
        if not isinstance(message, AssistantMessage):
            object.__setattr__(message, "text", Unreadable(message.text))
    try:
        second = shared.body(query(*HISTORY, UserMessage("more")), {}, frozenset())
    finally:
        for message in HISTORY:
            if not isinstance(message, AssistantMessage):
                object.__setattr__(message, "text", str.__str__(message.text))
    assert second.startswith(first[:-2])


def test_a_history_that_changed_in_the_middle_is_encoded_anew_from_there() -> None:
    shared = encoder()
    body(shared, query(*HISTORY))
    other = (HISTORY[0], UserMessage("other"), *HISTORY[2:])
    assert body(shared, query(*other)) == body(encoder(), query(*other))
    assert body(shared, query(*HISTORY[:2])) == body(encoder(), query(*HISTORY[:2]))


def test_other_tools_are_described_anew() -> None:
    shared = encoder()
    body(shared, query(*HISTORY))
    other = wire.ToolSpec("tick", "Ticks.", {"type": "object", "properties": {}})
    assert [tool["function"]["name"] for tool in body(shared, query(*HISTORY, tools=(other,)))["tools"]] == [
        "tick"
    ]
    assert "tools" not in body(shared, query(*HISTORY, tools=()))


def test_dropped_parameters_are_not_sent() -> None:
    raw = encoder().body(
        query(max_output_tokens=5),
        {"temperature": 1},
        frozenset(("temperature", "stream_options", "max_tokens")),
    )
    assert set(json.loads(raw)) == {"model", "stream", "tools", "messages"}


def test_r12_extras_go_back_to_the_model_that_wrote_them_and_to_no_other() -> None:
    extras = {
        "reasoning_content": "r1",
        "thinking_blocks": [{"type": "thinking", "thinking": "r1", "signature": "sigA"}],
        "tool_calls": {"c1": {"extra_content": {"x": 1}, "function": {"thought": "y"}}},
    }
    message = AssistantMessage("", (CALL,), "m", extras)
    own, other = message_dict(message, "m"), message_dict(message, "n")
    assert own["reasoning_content"] == "r1"
    assert own["thinking_blocks"] == extras["thinking_blocks"]
    (sent,) = own["tool_calls"]
    assert sent["extra_content"] == {"x": 1}
    assert sent["function"] == {"name": "echo", "arguments": CALL.arguments, "thought": "y"}
    assert set(other) == {"role", "content", "tool_calls"}
    assert set(other["tool_calls"][0]) == {"id", "type", "function"}


def test_extras_never_replace_what_is_ours() -> None:
    message = AssistantMessage("text", (), "m", {"role": "system", "content": "no"})
    assert message_dict(message, "m") == {"role": "assistant", "content": "text"}


def test_ids_of_the_history_are_seen_in_the_body() -> None:
    said = UserMessage('say "id":"c9"')
    ids = wire.IdsInBody(encoder().body(query(*HISTORY, said), {}, frozenset()))
    assert [name in ids for name in ("c1", "c", "c9")] == [True, False, False]


def test_lone_surrogates_never_reach_the_wire() -> None:
    asked = query(
        SystemMessage("a\ud800"),
        UserMessage("b\udfff"),
        AssistantMessage("c\ud800", (ToolCall("c1", "e\ud800", '{"a":"\ud800"}'),)),
        ToolMessage("c1", "echo", "d\ud800"),
    )
    raw = encoder().body(asked, {}, frozenset())
    assert "\ufffd" in raw.decode("utf-8")
    raw.decode("utf-8").encode("utf-8")
