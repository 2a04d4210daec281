"""Turns in which the model calls tools well, badly, too often, or all at once."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

from support.fixtures import Command, ProviderFactory
from support.flows import log_of, of_type, tool_results
from support.process import clean_env, run
from support.provider import DELTA, FIN, HTTP, OK, REPEAT, TC, Item, Request, T

PROGRAMS = Path(__file__).parent / "programs"


def fresh_call(numbers: itertools.count[int]) -> tuple[Item, ...]:
    number = next(numbers)
    arguments = json.dumps({"expression": f"{number}+0"})
    return (T(f"step {number}. "), TC(0, f"c{number}", "calc", arguments), FIN("tool_calls"))


def test_r08_a_tool_name_that_does_not_exist(single: Command, provider: ProviderFactory) -> None:
    server = provider([TC(0, "c1", "serach", '{"q":"x"}'), FIN("tool_calls")], OK, strict=True)
    result = single("hi", provider=server)
    assert (result.stdout, result.code) == (b"ok\n", 0)
    told = tool_results(server.bodies[1])["c1"]
    assert "serach" in told
    assert "nknown tool" in told
    assert all(name in told for name in ("calc", "now", "read_file", "search_text"))


def test_r08_again_and_again(single: Command, provider: ProviderFactory) -> None:
    server = provider(REPEAT([TC(0, "c1", "serach", '{"q":"x"}'), FIN("tool_calls")]), strict=True)
    result = single("hi", provider=server)
    assert (result.stdout, result.code) == (b"", 1)
    assert len(server.requests) <= 5
    assert "serach" in result.err


def test_r10_the_step_limit_in_a_single_run(single: Command, provider: ProviderFactory, home: Path) -> None:
    numbers = itertools.count(1)

    def reply(request: Request) -> tuple[Item, ...]:
        if request.body.get("tool_choice") == "none":
            return (T("So far: 1 and 2."), FIN("stop"))
        return fresh_call(numbers)

    server = provider(REPEAT(reply), strict=True)
    result = single("--max-iterations", "2", "count", provider=server)
    assert (result.stdout, result.code) == (b"So far: 1 and 2.\n", 3)
    assert "step limit (2)" in result.err
    assert next(numbers) == 3
    entries = log_of(home)
    asked = [call.id for event in of_type(entries, "model_replied") for call in event.calls]
    assert [event.call_id for event in of_type(entries, "tool_finished")] == asked == ["c1", "c2"]


def test_r10_the_conversation_goes_on_after_the_step_limit(chat: Command, provider: ProviderFactory) -> None:
    numbers = itertools.count(1)
    # The third request asks for a summary; a model that has none to give must not matter.
    server = provider(fresh_call(numbers), fresh_call(numbers), HTTP(400), OK, strict=True)
    result = chat("--max-iterations", "2", provider=server, stdin=b"count\ngo on\n")
    assert result.code == 0
    assert "step limit (2)" in result.err
    assert result.out.endswith("ok\n")
    assert "step 2." in result.out
    assert set(tool_results(server.bodies[3])) == {"c1", "c2"}
    assert server.bodies[3]["messages"][-1]["content"].endswith("go on")


def test_r12_reasoning_fields_travel_back_with_the_tool_result(
    single: Command, provider: ProviderFactory
) -> None:
    thinking = [{"type": "thinking", "thinking": "r1", "signature": "sigA"}]

    def second(request: Request) -> tuple[Item, ...]:
        reply = request.body["messages"][-2]
        if reply.get("reasoning_content") != "r1" or reply.get("thinking_blocks") != thinking:
            return (HTTP(400),)
        return tuple(OK)

    server = provider(
        [
            DELTA({"reasoning_content": "r1", "thinking_blocks": thinking}),
            TC(0, "c1", "calc", '{"expression":"1+1"}'),
            FIN("tool_calls"),
        ],
        second,
        strict=True,
    )
    result = single("hi", provider=server)
    assert (result.stdout, result.code) == (b"ok\n", 0)


def test_r26_one_of_several_parallel_tools_fails(
    single: Command, provider: ProviderFactory, workspace: Path
) -> None:
    (workspace / "a.txt").write_text("content of a")
    server = provider(
        [
            TC(0, "c1", "read_file", '{"path":"a.txt"}'),
            TC(1, "c2", "read_file", '{"path":"missing.txt"}'),
            TC(2, "c3", "calc", '{"expression":"1+1"}'),
            FIN("tool_calls"),
        ],
        OK,
        strict=True,
    )
    result = single("hi", provider=server)
    assert result.code == 0
    results = tool_results(server.bodies[1])
    assert list(results) == ["c1", "c2", "c3"]
    assert "content of a" in results["c1"]
    assert results["c2"].startswith("Error")
    assert "missing.txt" in results["c2"]
    assert results["c3"] == "2"
    assert "Traceback" not in result.err


def test_r26_a_function_that_raises(provider: ProviderFactory, home: Path, workspace: Path) -> None:
    server = provider(
        [
            TC(0, "c1", "echo", '{"text":"a"}'),
            TC(1, "c2", "boom", '{"msg":"x marks it"}'),
            TC(2, "c3", "echo", '{"text":"c"}'),
            FIN("tool_calls"),
        ],
        OK,
        strict=True,
    )
    program = ["python", PROGRAMS / "functions.py", "hi"]
    result = run(program, env=clean_env(home, server), cwd=workspace)
    assert (result.stdout, result.stderr, result.code) == (b"ok\n", b"", 0)
    results = tool_results(server.bodies[1])
    assert (results["c1"], results["c3"]) == ("a", "c")
    assert "x marks it" in results["c2"]


SAME = (TC(0, "c1", "calc", '{"expression":"1+1"}'), FIN("tool_calls"))


def test_r27_the_same_call_again_and_again(single: Command, provider: ProviderFactory, home: Path) -> None:
    server = provider(REPEAT(SAME), strict=True)
    result = single("hi", provider=server)
    assert result.code == 3
    assert result.stdout
    assert "same call" in result.err
    assert "calc" in result.err
    assert 2 <= len(of_type(log_of(home), "tool_started")) <= 6


def test_r27_the_conversation_goes_on(chat: Command, provider: ProviderFactory) -> None:
    def reply(request: Request) -> tuple[Item, ...]:
        last = request.body["messages"][-1]
        over = last["role"] == "user" and last["content"].endswith("next")
        return tuple(OK) if over else SAME

    server = provider(REPEAT(reply), strict=True)
    result = chat(provider=server, stdin=b"hi\nnext\n")
    assert result.code == 0
    assert result.out.endswith("ok\n")


def test_r27_calls_that_differ_are_not_stopped(single: Command, provider: ProviderFactory) -> None:
    numbers = itertools.count(1)
    server = provider(*(fresh_call(numbers) for _ in range(8)), OK, strict=True)
    result = single("hi", provider=server)
    assert (result.stdout, result.code) == (b"ok\n", 0)
