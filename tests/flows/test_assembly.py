"""Replies that providers send in odd shapes: one whole answer each, through `agent-single`."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fixtures import Command, ProviderFactory
from support.flows import log_of, of_type, tool_results
from support.provider import CHUNK, DELTA, FIN, OK, REPEAT, TC, USE, T, _


def test_r01_calls_with_neither_index_nor_id(single: Command, provider: ProviderFactory) -> None:
    server = provider(
        [
            TC(_, _, "calc", '{"expression":"1+1"}'),
            TC(_, _, "calc", '{"expression":"2+1"}'),
            FIN("tool_calls"),
        ],
        OK,
        strict=True,
    )
    result = single("hi", provider=server)
    assert (result.stdout, result.code) == (b"ok\n", 0)
    reply, *answers = server.bodies[1]["messages"][-3:]
    ids = [call["id"] for call in reply["tool_calls"]]
    assert all(ids)
    assert len(set(ids)) == 2
    assert [(answer["tool_call_id"], answer["content"]) for answer in answers] == [
        (ids[0], "2"),
        (ids[1], "3"),
    ]


def test_r02_interleaved_parallel_calls(
    single: Command, provider: ProviderFactory, workspace: Path, home: Path
) -> None:
    (workspace / "a.txt").write_text("one\ntwo\n")
    server = provider(
        [
            TC(0, "c1", "calc", ""),
            TC(1, "c2", "read_file", ""),
            TC(0, _, None, '{"expres'),
            TC(1, _, "read_file", '{"path":"a.txt",'),
            TC(0, "", "calc", 'sion":"40+2"}'),
            TC(1, _, _, '"limit":1}'),
            FIN("tool_calls"),
        ],
        OK,
        strict=True,
    )
    assert single("hi", provider=server).code == 0
    started = of_type(log_of(home), "tool_started")
    assert sorted((call.call_id, call.name) for call in started) == [("c1", "calc"), ("c2", "read_file")]
    assert {call.call_id: call.arguments for call in started}["c2"]["limit"] == 1
    results = tool_results(server.bodies[1])
    assert results["c1"] == "42"
    assert "one" in results["c2"]
    assert "two" not in results["c2"]


def test_r03_calls_present_although_the_finish_reason_says_stop(
    single: Command, provider: ProviderFactory
) -> None:
    server = provider(
        [TC(0, "c1", "calc", '{"expression":"1+1"}'), FIN("stop")], [T("done"), FIN("stop")], strict=True
    )
    result = single("hi", provider=server)
    assert (result.stdout, result.code) == (b"done\n", 0)
    assert tool_results(server.bodies[1]) == {"c1": "2"}


CUT_OFF = (TC(0, "c1", "calc", '{"expression":"1+'), FIN("length"))


def test_r04_a_call_cut_off_by_the_output_limit(
    single: Command, provider: ProviderFactory, home: Path
) -> None:
    server = provider(CUT_OFF, OK, strict=True)
    assert single("hi", provider=server).code == 0
    assert not of_type(log_of(home), "tool_started")
    told = tool_results(server.bodies[1])["c1"]
    assert "output limit" in told
    assert "shorter" in told


def test_r04_cut_off_again_and_again(single: Command, provider: ProviderFactory, home: Path) -> None:
    server = provider(REPEAT(CUT_OFF), strict=True)
    result = single("hi", provider=server)
    assert (result.stdout, result.code) == (b"", 1)
    assert len(server.requests) <= 3
    assert "output limit" in result.err
    assert not of_type(log_of(home), "tool_started")


def test_r05_no_choices_null_content_and_usage_last(
    single: Command, provider: ProviderFactory, home: Path
) -> None:
    server = provider(
        [
            CHUNK({"choices": []}),
            DELTA({"role": "assistant", "content": None}),
            T("hi"),
            DELTA({}),
            FIN("stop"),
            USE(11, 2),
        ]
    )
    result = single("hello", provider=server)
    assert (result.stdout, result.stderr, result.code) == (b"hi\n", b"", 0)
    (end,) = of_type(log_of(home), "turn_ended")
    assert (end.usage.prompt, end.usage.completion) == (11, 2)


@pytest.mark.parametrize("reason", ["stop", "tool_calls"])
def test_r06_nothing_came_back(
    single: Command, chat: Command, provider: ProviderFactory, reason: str
) -> None:
    server = provider(REPEAT([FIN(reason)]), strict=True)
    result = single("hi", provider=server)
    assert (result.stdout, result.code) == (b"", 1)
    assert 2 <= len(server.requests) <= 3
    assert "returned nothing" in result.err


def test_r06_the_conversation_goes_on(chat: Command, provider: ProviderFactory) -> None:
    server = provider([FIN("stop")], [FIN("tool_calls")], OK, strict=True)
    result = chat(provider=server, stdin=b"one\ntwo\n")
    assert (result.stdout, result.code) == (b"ok\n", 0)
    assert "returned nothing" in result.err
    assert [message["role"] for message in server.bodies[2]["messages"]] == ["system", "user"]


@pytest.mark.parametrize("arguments", ["", " "])
def test_r07_empty_arguments(single: Command, provider: ProviderFactory, home: Path, arguments: str) -> None:
    server = provider([TC(0, "c1", "now", arguments), FIN("tool_calls")], OK, strict=True)
    assert single("hi", provider=server).code == 0
    (started,) = of_type(log_of(home), "tool_started")
    assert started.name == "now"
    reply = server.bodies[1]["messages"][-2]
    assert reply["tool_calls"][0]["function"]["arguments"] == "{}"
    assert "Error" not in tool_results(server.bodies[1])["c1"]
