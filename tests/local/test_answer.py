"""The rounds with the model, each round's chunks given."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from agent_chat.local.answer import answer
from agent_chat.local.errors import LocalModelError

Chunk = dict[str, Any]
TOOLS: list[dict[str, Any]] = [{"type": "function", "function": {"name": "calc", "parameters": {}}}]
BODY: dict[str, Any] = {"messages": [{"role": "user", "content": "q"}], "tools": TOOLS}
ARGUMENTS = '{"expression": "1"}'
CALL = f'{{"name": "calc", "arguments": {ARGUMENTS}}}'


def text(content: str) -> Chunk:
    return {"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": None}]}


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
                    assert delta["id"]
                    calls.append((delta["function"]["name"], delta["function"]["arguments"]))
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
    rounds = Rounds(
        [text(CALL[:18]), text(CALL[18:])], [text(CALL[:25]), text(CALL[25:]), end("stop"), USAGE]
    )
    assert await rounds.reply() == ("", [("calc", ARGUMENTS)], ["tool_calls"], True)
    assert [body["tool_choice"] for body in rounds.asked] == ["none", "none"]
    assert ["lines_schema" in body for body in rounds.asked] == [False, True]


async def test_several_calls_come_as_several() -> None:
    other = CALL.replace("1", "2")
    rounds = Rounds([text(CALL)], [text(f"{CALL}\n{other}\n{CALL}"), end("stop")])
    calls = [("calc", ARGUMENTS), ("calc", ARGUMENTS.replace("1", "2"))]
    assert await rounds.reply() == ("", calls, ["tool_calls"], False)


async def test_a_model_that_goes_round_is_stopped() -> None:
    rounds = Rounds(
        [text(CALL)], [text(CALL), text("\n"), text(CALL), text("\n"), LocalModelError("asked for more")]
    )
    assert await rounds.reply() == ("", [("calc", ARGUMENTS)], ["tool_calls"], False)


async def test_whole_calls_before_a_cut_one_are_taken() -> None:
    rounds = Rounds([text(CALL)], [text(f"{CALL}\n{CALL[:-4]}"), end("length")])
    assert await rounds.reply() == ("", [("calc", ARGUMENTS)], ["tool_calls"], False)


async def test_text_before_a_call_is_kept() -> None:
    rounds = Rounds([text("Let me see.\n"), text(CALL)], [text(CALL), end("stop")])
    assert await rounds.reply() == ("Let me see.\n", [("calc", ARGUMENTS)], ["tool_calls"], False)


async def test_a_call_cut_by_length_says_so() -> None:
    rounds = Rounds([text(CALL)], [text(CALL[:-4]), end("length")])
    assert await rounds.reply() == ("", [("calc", ARGUMENTS[:-3])], ["length"], False)


HISTORY = [
    {"role": "user", "content": "q"},
    {"role": "assistant", "tool_calls": [{"id": "x", "function": {"name": "calc", "arguments": ARGUMENTS}}]},
    {"role": "tool", "tool_call_id": "x", "content": "1"},
]


async def test_a_repeated_call_is_asked_for_in_words() -> None:
    rounds = Rounds([text("Well.\n"), text(CALL)], [text(CALL), end("stop")], [text("It is 1."), end("stop")])
    assert await rounds.reply(messages=HISTORY) == ("Well.\n\n\nIt is 1.", [], ["stop"], False)
    assert rounds.asked[2]["tool_choice"] == "none"
    assert "lines_schema" not in rounds.asked[2]
    assert rounds.asked[2]["messages"][:3] == HISTORY


async def test_a_required_call_takes_one_round_even_when_repeated() -> None:
    rounds = Rounds([text(CALL), end("stop")])
    reply = await rounds.reply(messages=HISTORY, tool_choice="required")
    assert reply == ("", [("calc", ARGUMENTS)], ["tool_calls"], False)


async def test_choice_none_takes_what_looks_like_a_call_as_text() -> None:
    rounds = Rounds([text(CALL), end("stop")])
    assert await rounds.reply(tool_choice="none") == (CALL, [], ["stop"], False)


async def test_a_failure_of_a_round_is_the_answers() -> None:
    with pytest.raises(LocalModelError, match="out of luck"):
        await Rounds([text(CALL)], [LocalModelError("out of luck")]).reply()


async def test_closing_the_answer_closes_the_round() -> None:
    rounds = Rounds([text("a"), text("b"), end("stop")])
    chunks = answer(BODY, rounds)
    await anext(chunks)
    await chunks.aclose()
    assert rounds.closed == 1
