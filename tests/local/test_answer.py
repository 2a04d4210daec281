"""The rounds with the model, each round's chunks given."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from agent_chat.local.answer import answer
from agent_chat.local.errors import LocalModelError, MismatchedOutput

Chunk = dict[str, Any]
TOOLS: list[dict[str, Any]] = [{"type": "function", "function": {"name": "calc", "parameters": {}}}]
BODY: dict[str, Any] = {"messages": [{"role": "user", "content": "q"}], "tools": TOOLS}
CALL = '{"name": "calc", "arguments": {"expression": "1"}}'


def text(content: str) -> Chunk:
    return {"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": None}]}


def call(arguments: str, index: int = 0) -> Chunk:
    delta = {"index": index, "id": f"c{index}", "function": {"name": "calc", "arguments": arguments}}
    return {"choices": [{"index": 0, "delta": {"tool_calls": [delta]}, "finish_reason": None}]}


def end(reason: str) -> Chunk:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


USAGE: Chunk = {"choices": [], "usage": {"total_tokens": 3}}


class Rounds:
    """Gives each round its chunks; an exception among them is raised. Complains about rounds too many."""

    def __init__(self, *rounds: list[Chunk | LocalModelError]) -> None:
        self.left = list(rounds)
        self.asked: list[dict[str, Any]] = []
        self.closed = 0

    async def __call__(self, body: dict[str, Any]) -> AsyncGenerator[Chunk, None]:
        self.asked.append(body)
        try:
            for item in self.left.pop(0):
                if isinstance(item, LocalModelError):
                    raise item
                yield item
        finally:
            self.closed += 1

    async def reply(self, **more: Any) -> tuple[str, list[tuple[str, str]], list[str], bool]:
        """Text, calls, finish reasons, and whether usage came."""
        content, calls, reasons, usage = "", list[tuple[str, str]](), list[str](), False
        async for chunk in answer({**BODY, **more}, self):
            usage = usage or "usage" in chunk
            for choice in chunk["choices"]:
                content += choice["delta"].get("content") or ""
                for delta in choice["delta"].get("tool_calls", ()):
                    calls.append((delta["id"], delta["function"]["arguments"]))
                if choice["finish_reason"]:
                    reasons.append(choice["finish_reason"])
        assert self.closed == len(self.asked)
        assert not self.left
        return content, calls, reasons, usage


async def test_text_takes_one_round() -> None:
    rounds = Rounds([text("four"), text(" two"), end("stop"), USAGE])
    assert await rounds.reply() == ("four two", [], ["stop"], True)


async def test_text_held_to_the_end_is_told_before_the_end() -> None:
    rounds = Rounds([text('{"a": 1}'), end("stop")])
    assert await rounds.reply() == ('{"a": 1}', [], ["stop"], False)


async def test_a_call_is_written_again_under_the_schemas() -> None:
    rounds = Rounds([text(CALL[:18]), text(CALL[18:])], [call("{"), call("}"), end("tool_calls"), USAGE])
    assert await rounds.reply() == ("", [("c0", "{}")], ["tool_calls"], True)
    assert [body["tool_choice"] for body in rounds.asked] == ["none", "required"]


async def test_text_before_a_call_is_kept() -> None:
    rounds = Rounds([text("Let me see.\n"), text(CALL)], [call("{}"), end("tool_calls")])
    assert await rounds.reply() == ("Let me see.\n", [("c0", "{}")], ["tool_calls"], False)


async def test_a_call_cut_by_length_says_so() -> None:
    rounds = Rounds([text(CALL)], [call('{"expr'), end("length")])
    assert await rounds.reply() == ("", [("c0", '{"expr')], ["length"], False)


HISTORY = [
    {"role": "user", "content": "q"},
    {"role": "assistant", "tool_calls": [{"id": "x", "function": {"name": "calc", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "x", "content": "1"},
]


async def test_a_repeated_call_is_asked_for_in_words() -> None:
    rounds = Rounds([text(CALL)], [call("{}"), end("tool_calls")], [text("It is 1."), end("stop")])
    assert await rounds.reply(messages=HISTORY) == ("It is 1.", [], ["stop"], False)
    assert rounds.asked[2]["tool_choice"] == "none"
    assert rounds.asked[2]["messages"][:3] == HISTORY


async def test_output_that_cannot_be_read_is_asked_for_in_words() -> None:
    rounds = Rounds([text("Well.\n"), text(CALL)], [MismatchedOutput("bad")], [text("It is 1."), end("stop")])
    assert await rounds.reply() == ("Well.\n\n\nIt is 1.", [], ["stop"], False)


async def test_whole_calls_survive_output_that_cannot_be_read() -> None:
    rounds = Rounds([text(CALL)], [call("{}"), call('{"x', 1), MismatchedOutput("bad")])
    assert await rounds.reply() == ("", [("c0", "{}")], ["tool_calls"], False)


async def test_a_required_call_takes_one_round_even_when_repeated() -> None:
    rounds = Rounds([call("{}"), end("tool_calls")])
    assert await rounds.reply(messages=HISTORY, tool_choice="required") == (
        "",
        [("c0", "{}")],
        ["tool_calls"],
        False,
    )


async def test_a_required_call_that_cannot_be_read_fails() -> None:
    with pytest.raises(MismatchedOutput):
        await Rounds([MismatchedOutput("bad")]).reply(tool_choice="required")


async def test_choice_none_takes_what_looks_like_a_call_as_text() -> None:
    rounds = Rounds([text(CALL), end("stop")])
    assert await rounds.reply(tool_choice="none") == (CALL, [], ["stop"], False)


async def test_closing_the_answer_closes_the_round() -> None:
    rounds = Rounds([text("a"), text("b"), end("stop")])
    chunks = answer(BODY, rounds)
    await anext(chunks)
    await chunks.aclose()
    assert rounds.closed == 1
