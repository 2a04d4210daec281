"""Each rule of a well-formed history, broken once."""

from __future__ import annotations

from typing import Any

import pytest
from support.strict import well_formed

Message = dict[str, Any]

SYSTEM: Message = {"role": "system", "content": "s"}
USER: Message = {"role": "user", "content": "u"}
ANSWER: Message = {"role": "assistant", "content": "a"}


def call(call_id: str | None = "c1", name: str | None = "echo", arguments: Any = "{}") -> Message:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*entries: Any, content: Any = None) -> Message:
    return {"role": "assistant", "content": content, "tool_calls": list(entries)}


def result(call_id: str = "c1") -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": "r"}


@pytest.mark.parametrize(
    "messages",
    [
        [SYSTEM, USER],
        [SYSTEM, USER, ANSWER, USER],
        [SYSTEM, USER, calls(call("c1"), call("c2")), result("c2"), result("c1"), ANSWER, USER],
        [SYSTEM, USER, calls(call()), result(), calls(call()), result()],
        [SYSTEM, USER, calls(call(), content="text too"), result()],
        [SYSTEM, USER, {"role": "assistant", "content": [{"type": "text", "text": "a"}]}],
    ],
)
def test_good_histories_pass(messages: list[Message]) -> None:
    assert well_formed(messages) == []


BROKEN: list[tuple[list[Any], str]] = [
    ([], "there are no messages"),
    ([USER], "message 0: the first message is not the system message but user"),
    ([SYSTEM, USER, SYSTEM], "message 2: a system message that is not the first message"),
    ([SYSTEM, USER, USER], "message 2: two user messages in a row"),
    (
        [SYSTEM, USER, ANSWER, ANSWER],
        "message 3: two assistant messages without a tool message between them",
    ),
    (
        [SYSTEM, USER, {"role": "assistant", "content": ""}],
        "message 2: an assistant message without text and without calls",
    ),
    (
        [SYSTEM, USER, {"role": "assistant", "content": " \n"}],
        "message 2: an assistant message without text and without calls",
    ),
    (
        [SYSTEM, USER, {"role": "assistant", "content": None}],
        "message 2: an assistant message without text and without calls",
    ),
    (
        [SYSTEM, USER, {"role": "assistant", "content": "a", "tool_calls": []}],
        "message 2: tool_calls is neither absent nor a non-empty list",
    ),
    (
        [SYSTEM, USER, calls(call()), USER],
        "message 3: the call 'c1' has no tool message before this point",
    ),
    (
        [SYSTEM, USER, calls(call("c1"), call("c2")), result("c2"), ANSWER],
        "message 4: the call 'c1' has no tool message before this point",
    ),
    (
        [SYSTEM, USER, calls(call())],
        "end of the history (message 2): the call 'c1' has no tool message before this point",
    ),
    (
        [SYSTEM, USER, calls(call()), result(), result()],
        "message 4: a second tool message for the call 'c1'",
    ),
    ([SYSTEM, USER, result()], "message 2: a tool message for 'c1', which no open call has"),
    (
        [SYSTEM, USER, calls(call()), result(), ANSWER, result()],
        "message 5: a tool message for 'c1', which no open call has",
    ),
    ([SYSTEM, USER, calls(call(""))], "message 2: a call without an id"),
    ([SYSTEM, USER, calls(call(None))], "message 2: a call without an id"),
    ([SYSTEM, USER, calls(call(), call()), result()], "message 2: two calls with the id 'c1'"),
    ([SYSTEM, USER, calls(call(name=None)), result()], "message 2: call 'c1': it has no name"),
    (
        [SYSTEM, USER, calls({"id": "c1", "function": {"name": "e", "arguments": "{}"}}), result()],
        "message 2: call 'c1': its type is not 'function'",
    ),
    (
        [SYSTEM, USER, calls(call()), {"role": "tool", "tool_call_id": "c1"}],
        "message 3: the tool message for 'c1' has no content",
    ),
    ([SYSTEM, {"role": "robot", "content": "x"}], "message 1: unknown role 'robot'"),
    (
        [SYSTEM, "text"],
        "message 1: unknown role 'not an object (str)'",
    ),
]


@pytest.mark.parametrize(("messages", "problem"), BROKEN)
def test_each_broken_rule_is_named(messages: list[Any], problem: str) -> None:
    assert well_formed(messages) == [problem]


@pytest.mark.parametrize("arguments", ["", " ", "{", "[]", "null", None, {}])
def test_arguments_have_to_be_json_text_of_an_object(arguments: Any) -> None:
    problem = "message 2: call 'c1': its arguments are not JSON text of an object"
    assert well_formed([SYSTEM, USER, calls(call(arguments=arguments)), result()]) == [problem]
