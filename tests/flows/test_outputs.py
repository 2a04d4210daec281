"""The output formats, and the file that takes the answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.fixtures import Command, ProviderFactory
from support.flows import QUICK
from support.process import Result
from support.provider import FIN, HTTP, OK, REPEAT, TC, USE, OpenAIReply, T

CALL = [TC(0, "c1", "calc", '{"expression":"1+1"}'), FIN("tool_calls"), USE(5, 3)]
KEYS = {
    "schema_version", "type", "session_id", "kind", "reason", "answer", "data", "model_used", "iterations",
    "tool_calls", "usage", "cost_usd", "duration_ms", "error", "exit_code",
}  # fmt: skip


@pytest.fixture(scope="module")
def schemas() -> dict[str, Any]:
    from support.process import BIN, run

    result = run([BIN / "agent-chat", "schema"], env={"PATH": str(BIN), "HOME": "/nonexistent"})
    assert (result.stderr, result.code) == (b"", 0)
    return json.loads(result.stdout)


def validate(value: object, schema: dict[str, Any]) -> None:
    Draft202012Validator(schema).validate(value)  # pyright: ignore[reportUnknownMemberType]


def the_object(result: Result, schemas: dict[str, Any]) -> dict[str, Any]:
    """The one JSON object of a run; its exit code is that of the process."""
    (line,) = result.out.splitlines()
    value = json.loads(line)
    validate(value, schemas["result"])
    assert set(value) == KEYS
    assert value["exit_code"] == result.code
    return value


def test_json_of_a_success(single: Command, provider: ProviderFactory, schemas: dict[str, Any]) -> None:
    server = provider(CALL, [T("two → 2\n"), FIN("stop"), USE(7, 2, cached=4, reasoning=1)])
    value = the_object(single("--output", "json", "hi", provider=server), schemas)
    assert value["answer"] == "two → 2\n"
    assert (value["kind"], value["reason"], value["error"]) == ("completed", "final_answer", None)
    assert (value["iterations"], value["tool_calls"]) == (2, 1)
    assert value["usage"] == {"prompt": 12, "cached": 4, "completion": 5, "reasoning": 1}
    assert value["cost_usd"] is None


OVERFLOW = HTTP(400, body={"error": {"code": "context_length_exceeded"}})
FAILURES = [
    pytest.param([REPEAT(HTTP(500))], (), 75, "model_unavailable", id="unavailable"),
    pytest.param([REPEAT(HTTP(429))], (), 75, "model_rate_limited", id="rate-limited"),
    pytest.param([HTTP(401)], (), 1, "model_auth", id="auth"),
    pytest.param([HTTP(400)], (), 1, "model_request", id="request"),
    pytest.param([REPEAT([FIN("stop")])], (), 1, "empty_reply", id="empty"),
    pytest.param([[FIN("content_filter")]], (), 1, "content_filtered", id="filtered"),
    pytest.param([REPEAT([TC(0, "c1", "x", "{}"), FIN("stop")])], (), 1, "invalid_intents", id="intents"),
    pytest.param([REPEAT(CALL)], (), 3, "repeated_calls", id="repeated"),
    pytest.param([REPEAT([T("and "), FIN("length")])], (), 3, "output_truncated", id="truncated"),
    pytest.param([CALL, OK], ("--max-iterations", "1"), 3, "max_iterations", id="iterations"),
    pytest.param([CALL, OK], ("--max-tool-calls", "1"), 3, "budget_tool_calls", id="tool-calls"),
    pytest.param([CALL, OK], ("--max-tokens-total", "8"), 3, "budget_tokens", id="tokens"),
    pytest.param([OVERFLOW], (), 1, "context_overflow", id="overflow"),
    pytest.param([], ("-m", "nosuchmodel"), 2, "usage", id="usage"),
    pytest.param([], ("--max-iterations", "x"), 2, "usage", id="option"),
]  # fmt: skip


@pytest.mark.parametrize(("replies", "args", "code", "reason"), FAILURES)
def test_json_of_a_failure(
    single: Command,
    provider: ProviderFactory,
    schemas: dict[str, Any],
    replies: Sequence[OpenAIReply],
    args: Sequence[str],
    code: int,
    reason: str,
) -> None:
    result = single("--output", "json", *QUICK, *args, "hi", provider=provider(*replies))
    value = the_object(result, schemas)
    assert (value["exit_code"], value["reason"]) == (code, reason)
    assert value["error"]
    assert (value["answer"] != "") == (code == 3)
    assert (value["session_id"] is None) == (code == 2)


def test_json_of_a_cost_limit(single: Command, provider: ProviderFactory, schemas: dict[str, Any]) -> None:
    server = provider([CALL[0], CALL[1], USE(1_000_000, 10)])
    result = single(
        "--output", "json", "--max-cost", "0.001", "-m", "openai/gpt-5-mini", "hi", provider=server
    )
    value = the_object(result, schemas)
    assert (value["exit_code"], value["reason"]) == (3, "budget_cost")
    assert value["cost_usd"] > 0.001


@pytest.mark.parametrize("second", [OK, HTTP(400)], ids=["success", "failure"])
def test_stream_json_is_the_log_and_the_result(
    single: Command, provider: ProviderFactory, schemas: dict[str, Any], second: OpenAIReply
) -> None:
    result = single("--output", "stream-json", "hi", provider=provider(CALL, second))
    *events, last = [json.loads(line) for line in result.out.splitlines()]
    for event in events:
        validate(event, schemas["event"])
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    types = [event["type"] for event in events]
    assert types[0] == "session_started"
    assert types[-1] == "session_ended"
    assert types.index("model_replied") < types.index("tool_started") < types.index("tool_finished")
    validate(last, schemas["result"])
    assert last["type"] == "result"
    assert last["exit_code"] == result.code
    assert {event["session_id"] for event in events} == {last["session_id"]}


def test_stream_json_of_wrong_usage(single: Command, schemas: dict[str, Any]) -> None:
    result = single("--output", "stream-json", "-m", "nosuchmodel", "hi")
    assert the_object(result, schemas)["exit_code"] == 2


def test_stream_json_of_a_chat(chat: Command, provider: ProviderFactory, schemas: dict[str, Any]) -> None:
    result = chat("--output", "stream-json", provider=provider(CALL, OK, OK), stdin=b"one\ntwo\n")
    assert result.code == 0
    events = [json.loads(line) for line in result.out.splitlines()]
    for event in events:
        validate(event, schemas["event"])
    assert [event["type"] for event in events].count("turn_ended") == 2


def test_the_answer_in_a_file(single: Command, provider: ProviderFactory, workspace: Path) -> None:
    server = provider([T("✓ one"), FIN("stop")], OK)
    result = single("-o", "out.txt", "hi", provider=server)
    assert (result.stdout, result.code) == (b"", 0)
    assert (workspace / "out.txt").read_bytes() == "✓ one\n".encode()
    result = single("-o", "out.json", "--output", "json", "hi", provider=server)
    assert (result.stdout, result.code) == (b"", 0)
    assert json.loads((workspace / "out.json").read_text())["answer"] == "ok"


def test_a_file_that_cannot_be_written_to_loses_no_answer(single: Command, provider: ProviderFactory) -> None:
    result = single("-o", "/dev/full", "hi", provider=provider(OK))
    assert (result.stdout, result.code) == (b"ok\n", 1)
    assert "/dev/full" in result.err


def test_a_failure_in_json_goes_into_the_file(
    single: Command, provider: ProviderFactory, workspace: Path
) -> None:
    args = ("-o", "out.json", "--output", "json")
    assert single(*args, "hi", provider=provider(HTTP(401))).code == 1
    assert json.loads((workspace / "out.json").read_text())["exit_code"] == 1
    assert single(*args, "-m", "nosuchmodel", "hi").code == 2
    assert json.loads((workspace / "out.json").read_text())["exit_code"] == 2
