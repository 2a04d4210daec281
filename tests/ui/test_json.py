"""What programs read."""

from __future__ import annotations

import json

from support.engine import call, echo
from support.faces import Stream, converse, session

from agent_chat.core.errors import ModelFailure
from agent_chat.core.events import known_events
from agent_chat.core.model import Reply, Usage
from agent_chat.core.outcome import KINDS, StopReason
from agent_chat.models.scripted import ScriptedModel, Step, text
from agent_chat.ui.jsonl import JsonLinesSink
from agent_chat.ui.result import Result, ResultSink, usage_error

KEYS = {
    *("schema_version", "type", "session_id", "kind", "reason", "answer", "data", "model_used", "iterations"),
    *("tool_calls", "usage", "cost_usd", "duration_ms", "error", "exit_code"),
}


def exit_code(reason: StopReason) -> int:
    return 0 if KINDS[reason] == "completed" else 1


async def result_of(*steps: Step) -> dict[str, object]:
    sink = ResultSink()
    await converse(session(ScriptedModel(*steps), sink, echo()), "hi")
    return json.loads(sink.result(exit_code).to_json())


async def test_the_result_of_a_success() -> None:
    wanted = Reply(
        "", (call("c1", "echo", '{"text": "a"}'),), "tool_calls", "m-1", Usage(10, 4, 5, 2), cost_usd=0.25
    )
    done = Reply("done", model="m-1", usage=Usage(20, 0, 7, 0), cost_usd=0.5)
    assert await result_of(wanted, done) == {
        "schema_version": 1,
        "type": "result",
        "session_id": "s1",
        "kind": "completed",
        "reason": "final_answer",
        "answer": "done",
        "data": None,
        "model_used": "m-1",
        "iterations": 2,
        "tool_calls": 1,
        "usage": {"prompt": 30, "cached": 4, "completion": 12, "reasoning": 2},
        "cost_usd": 0.75,
        "duration_ms": 0,
        "error": None,
        "exit_code": 0,
    }


async def test_the_result_of_a_failure_has_the_same_keys() -> None:
    result = await result_of(ModelFailure("auth", "no key"))
    assert set(result) == KEYS
    assert (result["kind"], result["reason"], result["exit_code"]) == ("failed", "model_auth", 1)
    assert str(result["error"]).startswith("Failed (model_auth): no key\n")
    assert (result["answer"], result["model_used"]) == ("", None)


async def test_r21_an_unknown_cost_is_null() -> None:
    assert (await result_of(text("ok")))["cost_usd"] is None


def test_what_fails_before_a_turn_has_the_same_keys() -> None:
    result = json.loads(usage_error("no such model", 2).to_json())
    assert set(result) == KEYS
    assert (result["reason"], result["error"], result["exit_code"]) == ("usage", "no such model", 2)


def test_a_turn_that_never_ended_was_terminated() -> None:
    assert ResultSink().result(exit_code).reason == "terminated"


async def test_every_event_is_a_line_and_the_result_the_last() -> None:
    out = Stream()
    sink = JsonLinesSink(out.output)
    await converse(session(ScriptedModel(text("ok \x1b[2J \x9b \u202e ✓")), sink), "hi")
    sink.finish(exit_code)
    *events, last = out.text.splitlines()
    for line in events:
        known_events().validate_json(line)
    assert [json.loads(line)["seq"] for line in events] == list(range(1, len(events) + 1))
    assert json.loads(last)["answer"] == "ok \x1b[2J \x9b \u202e ✓"
    assert not set(out.text) & set("\x1b\x9b\u202e")


def test_the_schema_of_the_result_can_be_printed() -> None:
    assert set(Result.model_json_schema()["properties"]) == KEYS
