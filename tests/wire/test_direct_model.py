"""The direct transport against real HTTP: what goes out, what comes in, and when the request is closed."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from support.chat_models import KEY, JumpingClock, close_all, direct, query, retrying, run
from support.fixtures import ProviderFactory
from support.http_server import Http
from support.provider import (
    CHUNK,
    CUT,
    DELTA,
    DONE,
    FIN,
    GATE,
    HANG,
    HTTP,
    OK,
    RAW,
    REPEAT,
    RESET,
    TC,
    USE,
    Gate,
    ScriptedProvider,
    T,
    _,
)

from agent_chat.core.events import AttemptFailed, AttemptStarted, ParameterDropped, RetryWaiting
from agent_chat.core.messages import AssistantMessage, SystemMessage, ToolCall, ToolMessage, UserMessage
from agent_chat.core.model import CallDelta, Reply, TextDelta, Usage

A = '{"text":"a"}'


async def test_the_request(provider: ProviderFactory) -> None:
    server = provider(OK, strict=True)
    model = direct(server.base_url, headers={"X-Team": "blue"}, parameters={"temperature": 0.2})
    ran = await run(model)
    await model.close()
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["x-team"] == "blue"
    assert request.headers["user-agent"].startswith("agent-chat/")
    assert request.body["temperature"] == 0.2
    assert request.body["stream"] is True
    assert request.body["stream_options"] == {"include_usage": True}
    assert [message["role"] for message in request.body["messages"]] == ["system", "user"]
    assert ran.reply.model == "openai/m"


async def test_no_key_sends_no_authorization(provider: ProviderFactory) -> None:
    server = provider(OK)
    await run(direct(server.base_url, key=None, key_source=""))
    assert "authorization" not in server.requests[0].headers


async def test_deltas_come_as_they_are_sent(provider: ProviderFactory) -> None:
    gate = Gate()
    server = provider([T("Hel"), GATE(gate), T("lo"), FIN("stop"), USE(3, 1)])
    stream = direct(server.base_url).stream(query())
    assert await anext(stream) == TextDelta("Hel")
    gate.open()
    assert [item async for item in stream] == [
        TextDelta("lo"),
        Reply("Hello", model="openai/m", usage=Usage(3, 0, 1, 0)),
    ]


async def test_r02_parallel_calls_over_the_wire(provider: ProviderFactory) -> None:
    server = provider([
        TC(0, "c1", "echo", ""), TC(1, "c2", "nap", ""), TC(0, _, None, '{"te'),
        TC(1, _, "nap", '{"seconds":0,'), TC(0, "", "echo", 'xt":"a"}'), TC(1, _, _, '"tag":"z"}'),
        FIN("tool_calls"),
    ])  # fmt: skip
    ran = await run(direct(server.base_url))
    assert ran.reply.calls == (ToolCall("c1", "echo", A), ToolCall("c2", "nap", '{"seconds":0,"tag":"z"}'))
    assert ran.reply.finish_reason == "tool_calls"
    assert ran.of(CallDelta)[0] == CallDelta(0, "echo", "")


async def test_r01_own_ids_go_back_with_the_results(provider: ProviderFactory) -> None:
    first = [TC(_, _, "echo", A), TC(_, _, "echo", '{"text":"b"}'), FIN("tool_calls"), DONE]
    server = provider(first, OK, strict=True)
    model = direct(server.base_url)
    reply = (await run(model)).reply
    results = [ToolMessage(call.id, call.name, "done") for call in reply.calls]
    said = AssistantMessage(reply.text, reply.calls, reply.model, reply.extras)
    await run(model, query(SystemMessage("s"), UserMessage("u"), said, *results))
    sent = server.bodies[1]["messages"]
    ids = [call["id"] for call in sent[2]["tool_calls"]]
    assert len(set(ids)) == 2
    assert [message["tool_call_id"] for message in sent[3:]] == ids


async def test_r03_calls_count_whatever_the_finish_reason_says(provider: ProviderFactory) -> None:
    server = provider([TC(0, "c1", "echo", A), FIN("stop"), DONE])
    assert (await run(direct(server.base_url))).reply.calls == (ToolCall("c1", "echo", A),)


async def test_r04_a_reply_that_was_cut_says_so(provider: ProviderFactory) -> None:
    server = provider([TC(0, "c1", "shell", '{"command":"rm -rf build'), FIN("length"), DONE])
    reply = (await run(direct(server.base_url))).reply
    assert reply.finish_reason == "length"
    assert reply.calls[0].arguments == '{"command":"rm -rf build'


async def test_r05_chunks_without_choices_null_content_and_usage_last(provider: ProviderFactory) -> None:
    server = provider([
        CHUNK({"choices": []}), DELTA({"role": "assistant", "content": None}), T("hi"), DELTA({}),
        FIN("stop"), USE(11, 2),
    ])  # fmt: skip
    reply = (await run(direct(server.base_url))).reply
    assert (reply.text, reply.usage) == ("hi", Usage(11, 0, 2, 0))


async def test_r06_a_reply_with_nothing_in_it_is_a_reply(provider: ProviderFactory) -> None:
    server = provider([FIN("stop"), DONE])
    reply = (await run(direct(server.base_url))).reply
    assert (reply.text, reply.calls) == ("", ())


async def test_r12_reasoning_comes_back_as_it_was(provider: ProviderFactory) -> None:
    block = {"type": "thinking", "thinking": "r1", "signature": "sigA+/=="}
    first = [
        DELTA({"reasoning_content": "r1", "thinking_blocks": [block]}),
        TC(0, "c1", "echo", A),
        FIN("tool_calls"),
    ]
    server = provider(first, OK, strict=True)
    model = direct(server.base_url)
    reply = (await run(model)).reply
    assert (reply.text, reply.reasoning) == ("", "r1")
    # Through JSON, as it is kept in a log.
    extras = json.loads(json.dumps(dict(reply.extras)))
    said = AssistantMessage(reply.text, reply.calls, reply.model, extras)
    await run(model, query(SystemMessage("s"), UserMessage("u"), said, ToolMessage("c1", "echo", "a")))
    sent = server.bodies[1]["messages"][2]
    assert sent["reasoning_content"] == "r1"
    assert sent["thinking_blocks"] == [block]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (HTTP(429, body={"error": {"code": "insufficient_quota", "message": "no credit"}}), "quota"),
        (HTTP(401, body={"error": {"message": f"bad key {KEY}"}}), "auth"),
        (HTTP(404, body={"error": {"code": "model_not_found", "message": "no m"}}), "not_found"),
        (HTTP(400, body={"error": {"type": "invalid_request_error", "message": "no"}}), "request"),
    ],
)
async def test_r15_errors_that_no_retry_can_cure_are_one_request(
    provider: ProviderFactory, answer: Http, kind: str
) -> None:
    server = provider(answer)
    ran = await run(retrying(direct(server.base_url)))
    assert ran.error.kind == kind
    assert len(server.requests) == 1
    assert "openai/m" in ran.error.message
    assert "TEST456" not in ran.error.message
    assert ("OPENAI_API_KEY" in ran.error.message) == (kind == "auth")


async def test_r14_the_wait_that_was_asked_for(provider: ProviderFactory) -> None:
    server = provider(HTTP(429, {"Retry-After": "2"}), OK)
    clock = JumpingClock()
    ran = await run(retrying(direct(server.base_url), clock))
    assert ran.reply.text == "ok"
    assert clock.sleeps == [2.0]
    assert ran.of(RetryWaiting)[0].seconds == 2.0


async def test_r16_an_error_in_a_stream_and_529_are_passing(provider: ProviderFactory) -> None:
    busy = CHUNK({"error": {"type": "overloaded_error", "message": "busy"}})
    server = provider([busy, CUT], HTTP(529), OK)
    clock = JumpingClock()
    ran = await run(retrying(direct(server.base_url), clock))
    assert ran.reply.text == "ok"
    assert clock.sleeps == [0.5, 1.0]


async def test_r16_when_retries_end_the_provider_s_words_remain(provider: ProviderFactory) -> None:
    busy = CHUNK({"error": {"type": "overloaded_error", "message": "busy"}})
    server = provider(REPEAT([busy, CUT]))
    error = (await run(retrying(direct(server.base_url)))).error
    assert error.policy.reason == "model_unavailable"
    assert "busy" in error.message
    assert len(server.requests) == 3


async def test_r16_an_event_named_error_is_one_whatever_it_holds(provider: ProviderFactory) -> None:
    server = provider([RAW(b'event: error\ndata: {"message": "busy", "code": 503}\n\n'), CUT])
    error = (await run(direct(server.base_url))).error
    assert error.kind == "unavailable"
    assert "busy" in error.message


@pytest.mark.parametrize("end", [CUT, RESET])
async def test_r17_a_stream_that_breaks_is_discarded(provider: ProviderFactory, end: Any) -> None:
    server = provider([T("Hello wor"), end], [T("Hello world."), FIN("stop"), DONE])
    ran = await run(retrying(direct(server.base_url)))
    assert ran.reply.text == "Hello world."
    (failed,) = ran.of(AttemptFailed)
    assert (failed.failure, failed.discarded) == ("connection", True)


async def test_a_stream_that_ends_well_but_early_is_broken(provider: ProviderFactory) -> None:
    server = provider([T("Hello wor")], OK)
    ran = await run(retrying(direct(server.base_url)))
    assert [failed.failure for failed in ran.of(AttemptFailed)] == ["connection"]
    assert ran.reply.text == "ok"


@pytest.mark.parametrize("end", [[], [CUT], [HANG], [RESET], [RAW(b": ping\n\n"), HANG]])
async def test_a_finish_reason_completes_a_reply_whatever_follows(
    provider: ProviderFactory, end: list[Any]
) -> None:
    stop = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    server = provider([T("ok"), RAW(stop), *end])
    started = time.monotonic()
    assert (await run(direct(server.base_url))).reply.text == "ok"
    assert time.monotonic() - started < 8


async def test_an_end_mark_without_a_finish_reason_completes_a_reply(provider: ProviderFactory) -> None:
    server = provider([T("ok"), DONE])
    reply = (await run(direct(server.base_url))).reply
    assert (reply.text, reply.finish_reason) == ("ok", "unknown")


async def test_r18_silence_is_bounded(provider: ProviderFactory) -> None:
    server = provider([TC(0, "c1", "shell", _), HANG], OK)
    started = time.monotonic()
    ran = await run(retrying(direct(server.base_url, idle_limit=0.4)))
    assert ran.reply.text == "ok"
    (failed,) = ran.of(AttemptFailed)
    assert failed.failure == "timeout"
    assert "no data for 0.4 s" in failed.message
    assert 0.4 <= time.monotonic() - started < 5


async def test_r18_silence_before_the_first_byte_counts_too(provider: ProviderFactory) -> None:
    server = provider([HANG])
    assert "no data for 0.2 s" in (await run(direct(server.base_url, idle_limit=0.2))).error.message


async def test_r18_silence_is_measured_from_the_last_byte(provider: ProviderFactory) -> None:
    """A slow stream is not a silent one."""
    gates = [Gate() for _number in range(4)]
    steps = [step for gate in gates for step in (RAW(b": still here\n\n"), GATE(gate))]
    server = provider([*steps, T("ok"), FIN("stop"), DONE])
    task = asyncio.create_task(run(direct(server.base_url, idle_limit=1.0)))
    started = time.monotonic()
    for gate in gates:
        await gate.reached()
        await asyncio.sleep(0.3)
        gate.open()
    assert (await task).reply.text == "ok"
    assert time.monotonic() - started > 1.0


async def test_r20_a_refused_parameter_is_left_out_from_then_on(provider: ProviderFactory) -> None:
    refusal = HTTP(400, body={"error": {"message": "Unsupported parameter: temperature"}})
    server = provider(refusal, OK, OK)
    model = retrying(direct(server.base_url, parameters={"temperature": 0.2, "seed": 1}))
    ran = await run(model)
    assert ran.reply.text == "ok"
    assert [notice.parameter for notice in ran.of(ParameterDropped)] == ["temperature"]
    assert (await run(model)).of(ParameterDropped) == []
    assert ["temperature" in body for body in server.bodies] == [True, False, False]
    assert all(body["seed"] == 1 for body in server.bodies)


async def test_r21_no_price_is_no_cost_and_no_trouble(provider: ProviderFactory) -> None:
    server = provider([T("ok"), FIN("stop"), USE(3, 1)])
    reply = (await run(direct(server.base_url, model="openai/my-local-7b"))).reply
    assert (reply.text, reply.usage, reply.cost_usd) == ("ok", Usage(3, 0, 1, 0), None)


async def test_a_known_price_gives_the_cost(provider: ProviderFactory) -> None:
    server = provider([T("ok"), FIN("stop"), USE(1000, 100)])
    prices = {"input_cost_per_token": 0.001, "output_cost_per_token": 0.01}
    assert (await run(direct(server.base_url, prices=prices))).reply.cost_usd == pytest.approx(2.0)


@pytest.mark.parametrize("form", ["{}/v1", "{}/v1/", " {}/v1 ", "{}/v1/chat/completions"])
async def test_r54_a_base_address_works_in_its_usual_forms(provider: ProviderFactory, form: str) -> None:
    server = provider(OK)
    assert (await run(direct(form.format(server.address)))).reply.text == "ok"
    assert server.other_requests == []


@pytest.mark.parametrize("form", ["{}", "{}/"])
async def test_r54_a_base_address_without_v1_is_told_what_is_expected(
    provider: ProviderFactory, form: str
) -> None:
    server = provider(OK, allow_unused=True, allow_failures=True)
    error = (await run(retrying(direct(form.format(server.address))))).error
    assert error.policy.reason == "model_request"
    assert f"{server.address}/chat/completions" in error.message
    assert "/v1" in error.message
    assert [request.path for request in server.other_requests] == ["/chat/completions"]


async def test_an_address_that_nobody_listens_at_is_a_passing_failure(provider: ProviderFactory) -> None:
    server = provider(OK, allow_unused=True)
    server.stop()
    ran = await run(retrying(direct(server.base_url)))
    assert ran.error.kind == "connection"
    assert server.base_url in ran.error.message
    assert len(ran.of(AttemptStarted)) == 3


@pytest.mark.parametrize("base", ["ftp://h/v1", "http://[::1/v1", "nonsense"])
async def test_an_address_that_is_none_is_not_retried(base: str) -> None:
    ran = await run(retrying(direct(base)))
    assert ran.error.kind == "not_found"
    assert len(ran.of(AttemptStarted)) == 1


async def test_a_whole_answer_as_json_is_taken(provider: ProviderFactory) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "echo", "arguments": A}}
    message = {"role": "assistant", "content": "hi", "tool_calls": [call]}
    body: dict[str, Any] = {
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }
    server = provider(HTTP(200, {"Content-Type": "application/json"}, body))
    ran = await run(direct(server.base_url))
    assert ran.text == "hi"
    assert ran.reply.calls == (ToolCall("c1", "echo", A),)
    assert ran.reply.usage == Usage(3, 0, 1, 0)


@pytest.mark.parametrize(
    ("content_type", "body", "kind"),
    [
        ("application/json", b'{"error": {"message": "busy", "code": 503}}', "unavailable"),
        ("application/json", b"{", "protocol"),
        ("application/json", b"{}", "protocol"),
        ("text/html", b"<html>Welcome</html>", "not_found"),
        ("text/plain", b"hello", "connection"),
        ("text/event-stream", b"data: {nonsense\n\n", "protocol"),
        ("text/event-stream", b"", "connection"),
    ],
)
async def test_a_200_that_is_no_reply(
    provider: ProviderFactory, content_type: str, body: bytes, kind: str
) -> None:
    server = provider(HTTP(200, {"Content-Type": content_type}, body))
    assert (await run(direct(server.base_url))).error.kind == kind


async def test_a_stream_that_is_not_named_one_is_taken(provider: ProviderFactory) -> None:
    stream = b'data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    server = provider(HTTP(200, {"Content-Type": "application/octet-stream"}, stream))
    assert (await run(direct(server.base_url))).reply.text == "ok"


async def test_lines_end_and_break_as_they_like(provider: ProviderFactory) -> None:
    """Carriage returns, comments, ids, no blank after the colon, separators inside of strings."""
    chunk = '{"choices":[{"delta":{"content":"a\u2028b\u0085c"},"finish_reason":"stop"}]}'
    server = provider([RAW(f"\r\n: hi\r\nid: 7\r\nevent: message\r\ndata:{chunk}\r\n\r\n".encode()), DONE])
    assert (await run(direct(server.base_url))).reply.text == "a\u2028b\u0085c"


async def test_cancelling_closes_the_request_at_once(provider: ProviderFactory) -> None:
    server = provider([T("a"), HANG])
    stream = direct(server.base_url).stream(query())
    await anext(stream)
    task = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    cancelled_at = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - cancelled_at < 0.1
    assert await server.requests[0].closed_early() - cancelled_at < 0.1


async def test_cancelling_before_the_answer_closes_the_request(provider: ProviderFactory) -> None:
    server = provider([HANG])
    task = asyncio.create_task(run(retrying(direct(server.base_url))))
    await server.request_arrives(1)
    cancelled_at = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await server.requests[0].closed_early() - cancelled_at < 0.1


async def test_closing_the_generator_closes_the_request(provider: ProviderFactory) -> None:
    server = provider([T("a"), HANG])
    stream = retrying(direct(server.base_url)).stream(query())
    async for item in stream:
        if isinstance(item, TextDelta):
            break
    closed_at = time.monotonic()
    await stream.aclose()
    assert await server.requests[0].closed_early() - closed_at < 0.1


async def test_the_connection_is_used_again(provider: ProviderFactory) -> None:
    server = provider(REPEAT([T("ok"), FIN("stop"), USE(1, 1)]))
    model = direct(server.base_url)
    for _number in range(5):
        await run(model)
    assert server.connections == 1
    await model.close()
    await model.close()


def test_a_model_survives_its_event_loop(provider: ProviderFactory) -> None:
    body = {"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}
    server = provider(REPEAT(HTTP(200, body=body, close=True)))
    model = direct(server.base_url)
    for _number in range(2):
        assert asyncio.run(run(model)).reply.text == "ok"


async def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "http://provider.invalid/v1/chat/completions"
    with ScriptedProvider([OK], paths=[url]) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.address)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        assert (await run(direct("http://provider.invalid/v1"))).reply.text == "ok"
        await close_all()


async def test_warming_asks_nothing(provider: ProviderFactory) -> None:
    server = provider(OK)
    model = direct(server.base_url)
    await model.warm(query())
    assert server.requests == []
    assert (await run(model)).reply.text == "ok"


@pytest.mark.parametrize("retries", [0, 1, 4])
async def test_n_retries_are_n_plus_1_requests(provider: ProviderFactory, retries: int) -> None:
    server = provider(REPEAT(HTTP(500)))
    await run(retrying(direct(server.base_url), retries=retries))
    assert len(server.requests) == retries + 1


async def test_the_requests_of_a_session_begin_with_the_same_bytes(provider: ProviderFactory) -> None:
    server = provider(REPEAT(OK))
    model = direct(server.base_url)
    history = [SystemMessage("s"), UserMessage("one")]
    for said in ("two", "three"):
        reply = (await run(model, query(*history))).reply
        history = [*history, AssistantMessage(reply.text, (), reply.model, reply.extras), UserMessage(said)]
    await run(model, query(*history))
    for earlier, later in zip(server.requests, server.requests[1:], strict=False):
        assert later.raw.startswith(earlier.raw[: -len(b"]}")])
