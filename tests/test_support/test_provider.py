"""The scripted provider, asked by a plain HTTP client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from support.provider import (
    CHUNK,
    CUT,
    DELTA,
    FIN,
    GATE,
    HANG,
    HTTP,
    OK,
    RAW,
    REPEAT,
    RESET,
    SLEEP,
    TC,
    USE,
    Gate,
    Item,
    Request,
    ScriptedProvider,
    T,
    _,
)

USER: list[dict[str, Any]] = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]


def post(provider: ScriptedProvider, *, stream: bool = True, messages: Any = USER) -> httpx.Response:
    body = {"model": "m", "stream": stream, "messages": messages}
    with httpx.Client(timeout=10, trust_env=False) as client:
        return client.post(f"{provider.base_url}/chat/completions", json=body)


def read_into(parts: list[bytes], provider: ScriptedProvider) -> None:
    url = f"{provider.base_url}/chat/completions"
    with (
        httpx.Client(timeout=10, trust_env=False) as client,
        client.stream("POST", url, json={"stream": True, "messages": USER}) as response,
    ):
        for part in response.iter_bytes():
            parts.append(part)  # noqa: PERF402


def chunks(response: httpx.Response) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


def deltas(response: httpx.Response) -> list[Any]:
    return [chunk["choices"][0]["delta"] for chunk in chunks(response) if chunk != "[DONE]"]


def test_replies_come_in_order_and_done_follows_a_finish_reason() -> None:
    with ScriptedProvider([[T("a"), T("b"), FIN("stop")], OK]) as provider:
        first, second = post(provider), post(provider)
    assert first.headers["content-type"] == "text/event-stream"
    assert deltas(first) == [{"content": "a"}, {"content": "b"}, {}]
    assert chunks(first)[-2]["choices"][0]["finish_reason"] == "stop"
    assert chunks(first)[-1] == "[DONE]"
    assert deltas(second) == [{"content": "ok"}, {}]
    assert [body["messages"] for body in provider.bodies] == [USER, USER]
    assert provider.requests[0].headers["content-type"] == "application/json"
    assert provider.requests[0].arrived_at <= provider.requests[1].arrived_at


def test_absent_null_and_empty_fields_of_a_call_are_three_things() -> None:
    reply = [
        TC(_, _, "echo", ""),
        TC(0, "c1", None, _),
        [TC(1, "", _, "{"), TC(2, _, _, _)],
        FIN("tool_calls"),
    ]
    with ScriptedProvider([reply]) as provider:
        found = [delta.get("tool_calls") for delta in deltas(post(provider))]
    assert found == [
        [{"function": {"name": "echo", "arguments": ""}}],
        [{"index": 0, "id": "c1", "type": "function", "function": {"name": None}}],
        [{"index": 1, "id": "", "function": {"arguments": "{"}}, {"index": 2}],
        None,
    ]


def test_raw_chunks_deltas_and_usage_go_out_as_written() -> None:
    reply = [
        CHUNK({"choices": []}),
        DELTA({"content": None}),
        RAW(b": ping\n\n"),
        USE(11, 2, cached=5, reasoning=1),
    ]
    with ScriptedProvider([reply]) as provider:
        text = post(provider).text
    parts = text.split("\n\n")
    assert parts[0] == 'data: {"choices": []}'
    assert json.loads(parts[1].removeprefix("data: "))["choices"][0]["delta"] == {"content": None}
    assert parts[2] == ": ping"
    usage = json.loads(parts[3].removeprefix("data: "))
    assert usage["choices"] == []
    assert usage["usage"] == {
        "prompt_tokens": 11,
        "completion_tokens": 2,
        "total_tokens": 13,
        "prompt_tokens_details": {"cached_tokens": 5},
        "completion_tokens_details": {"reasoning_tokens": 1},
    }
    assert parts[4] == "data: [DONE]"


def test_a_request_that_does_not_stream_gets_one_body() -> None:
    reply = [
        T("a"),
        T("b"),
        TC(0, "c1", "echo", '{"te'),
        TC(0, _, _, 'xt":"a"}'),
        FIN("tool_calls"),
        USE(3, 1),
    ]
    with ScriptedProvider([reply]) as provider:
        body = post(provider, stream=False).json()
    assert body["choices"] == [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": "ab",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "echo", "arguments": '{"text":"a"}'},
                    }
                ],
            },
        }
    ]
    assert body["usage"]["prompt_tokens"] == 3


@pytest.mark.parametrize("end", [CUT, RESET], ids=["cut", "reset"])
def test_a_cut_reaches_the_client_as_a_broken_body(end: Item) -> None:
    with ScriptedProvider([[T("a"), end]]) as provider:
        seen: list[bytes] = []
        with pytest.raises(httpx.TransportError):
            read_into(seen, provider)
        assert b'"content": "a"' in b"".join(seen)
        assert provider.requests[0].closed_early_at is None
        assert provider.requests[0].finished_at is None


def test_http_answers_carry_status_headers_and_body() -> None:
    replies = [
        HTTP(429, {"Retry-After": "2"}, {"error": {"code": "x"}}),
        HTTP(529),
        HTTP(500, None, "busy", close=True),
    ]
    with ScriptedProvider(replies) as provider:
        first, second, third = (post(provider) for _i in range(3))
    assert (first.status_code, first.headers["retry-after"], first.json()) == (
        429,
        "2",
        {"error": {"code": "x"}},
    )
    assert second.status_code == 529
    assert "scripted HTTP 529" in second.text
    assert (third.status_code, third.text, third.headers["connection"]) == (500, "busy", "close")
    assert [request.status for request in provider.requests] == [429, 529, 500]


def test_a_function_sees_the_request() -> None:
    def reply(request: Request) -> Sequence[Item]:
        return OK if request.body["model"] == "m" else [HTTP(400)]

    with ScriptedProvider([reply]) as provider:
        assert post(provider).status_code == 200


def test_the_last_reply_can_repeat() -> None:
    with ScriptedProvider([HTTP(500), REPEAT(OK)]) as provider:
        assert [post(provider).status_code for _i in range(4)] == [500, 200, 200, 200]


def test_a_request_beyond_the_script_fails_the_check() -> None:
    provider = ScriptedProvider([OK]).start()
    try:
        post(provider)
        assert post(provider).status_code == 599
    finally:
        provider.stop()
    with pytest.raises(AssertionError, match="request 2 is beyond the script of 1"):
        provider.check()


def test_unused_replies_fail_the_check() -> None:
    provider = ScriptedProvider([OK, REPEAT(OK)])
    with provider:
        post(provider)
        post(provider)
    provider = ScriptedProvider([OK, REPEAT(OK)]).start()
    post(provider)
    provider.stop()
    with pytest.raises(AssertionError, match="1 of 2 scripted replies were never asked for"):
        provider.check()


def test_unused_replies_and_failures_can_be_allowed() -> None:
    with ScriptedProvider([OK], allow_unused=True):
        pass
    with ScriptedProvider([], allow_failures=True) as provider:
        assert post(provider).status_code == 599
    assert provider.failures == ["request 1 is beyond the script of 0"]


def test_leaving_the_context_checks() -> None:
    with pytest.raises(AssertionError, match="never asked for"), ScriptedProvider([OK]):
        pass


def test_other_paths_get_404_and_fail_the_check() -> None:
    provider = ScriptedProvider([]).start()
    answer = httpx.post(f"{provider.address}/chat/completions", json={}, trust_env=False)
    provider.stop()
    assert answer.status_code == 404
    assert provider.requests == []
    assert [request.path for request in provider.other_requests] == ["/chat/completions"]
    with pytest.raises(AssertionError, match="unexpected request: POST /chat/completions"):
        provider.check()


def test_models_are_listed_when_given() -> None:
    with ScriptedProvider([], models=["a", "b"]) as provider:
        listed = httpx.get(f"{provider.base_url}/models", trust_env=False).json()
    assert [entry["id"] for entry in listed["data"]] == ["a", "b"]


def test_a_strict_server_refuses_a_bad_history_and_keeps_its_reply() -> None:
    bad = [*USER, {"role": "user", "content": "again"}]
    provider = ScriptedProvider([OK], strict=True).start()
    try:
        refused = post(provider, messages=bad)
        assert refused.status_code == 400
        assert "two user messages in a row" in refused.json()["error"]["message"]
        assert post(provider).status_code == 200
    finally:
        provider.stop()
    with pytest.raises(AssertionError, match="two user messages in a row"):
        provider.check()


def test_a_lone_surrogate_is_refused() -> None:
    provider = ScriptedProvider([OK]).start()
    try:
        raw = b'{"model":"m","messages":[{"role":"user","content":"\\ud800"}]}'
        answer = httpx.post(f"{provider.base_url}/chat/completions", content=raw, trust_env=False)
        assert answer.status_code == 400
        assert "not JSON in UTF-8" in answer.text
    finally:
        provider.stop()


def test_connections_are_kept_alive() -> None:
    with ScriptedProvider([OK, OK, HTTP(500), OK]) as provider:
        with httpx.Client(trust_env=False) as client:
            for _i in range(4):
                client.post(f"{provider.base_url}/chat/completions", json={"stream": True})
        assert provider.connections == 1
        assert {request.connection for request in provider.requests} == {1}


async def test_a_gate_holds_the_stream_until_it_is_opened() -> None:
    gate = Gate()
    seen: list[str] = []
    with ScriptedProvider([[T("first"), GATE(gate), T("second"), FIN("stop")]]) as provider:
        async with httpx.AsyncClient(trust_env=False, timeout=10) as client:
            url = f"{provider.base_url}/chat/completions"
            async with client.stream("POST", url, json={"stream": True}) as response:
                async for line in response.aiter_lines():
                    seen.append(line)
                    if "first" in line:
                        await gate.reached()
                        assert not any("second" in line for line in seen)
                        gate.open()
    assert any("second" in line for line in seen)
    assert provider.requests[0].finished_at is not None


async def test_a_client_that_gives_up_on_a_hanging_stream_is_noticed() -> None:
    with ScriptedProvider([[T("a"), HANG], [HANG]]) as provider:
        for number in (1, 2):
            task = asyncio.create_task(asyncio.to_thread(_read_with_timeout, provider))
            request = await provider.request_arrives(number)
            await task
            assert await request.closed_early() >= request.arrived_at
            assert request.finished_at is None


def _read_with_timeout(provider: ScriptedProvider) -> None:
    with httpx.Client(trust_env=False, timeout=0.2) as client, pytest.raises(httpx.ReadTimeout):
        client.post(f"{provider.base_url}/chat/completions", json={"stream": True})


def test_stopping_ends_a_stream_that_hangs() -> None:
    gate = Gate()
    provider = ScriptedProvider([[T("a"), GATE(gate), HANG]]).start()
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read_into, [], provider)
        gate.wait_reached()
        provider.stop()
        with pytest.raises(httpx.TransportError):
            reading.result(10)
    provider.check()


def test_waiting_for_a_request_that_never_comes_is_bounded() -> None:
    with (
        ScriptedProvider([]) as provider,
        pytest.raises(AssertionError, match=r"request 1 did not arrive within 0.05 s; there were 0"),
    ):
        provider.wait_for_request(1, 0.05)


def test_a_slow_provider_takes_its_time_before_a_plain_answer_too() -> None:
    gate = Gate()
    gate.open()
    with ScriptedProvider([[SLEEP(0.1), GATE(gate), HTTP(503)]]) as provider:
        assert post(provider).status_code == 503
    request = provider.requests[0]
    assert request.finished_at is not None
    assert request.finished_at - request.arrived_at >= 0.1
    gate.wait_reached(0)


def test_a_reply_without_the_end_mark_ends_its_body_properly() -> None:
    with ScriptedProvider([[T("a")]]) as provider:
        assert chunks(post(provider))[-1] != "[DONE]"
    assert provider.requests[0].finished_at is not None


def test_a_function_that_fails_fails_the_check() -> None:
    def reply(request: Request) -> Sequence[Item]:
        raise KeyError(request.path)

    provider = ScriptedProvider([reply]).start()
    answer = post(provider)
    provider.stop()
    assert answer.status_code == 599
    with pytest.raises(AssertionError, match="the script failed at request 1: KeyError"):
        provider.check()


def test_many_clients_at_once_each_get_a_reply() -> None:
    with ScriptedProvider([REPEAT(OK)]) as provider, ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(post, [provider] * 60))
    assert [answer.status_code for answer in answers] == [200] * 60
    assert len(provider.requests) == 60
