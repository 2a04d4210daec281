"""Both transports against the same scripted provider: the same script, the same reply."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from support.chat_models import KEY, direct, opened, query, retrying, run, target
from support.fixtures import ProviderFactory
from support.provider import (
    CHUNK,
    CUT,
    DELTA,
    DONE,
    FIN,
    HANG,
    HTTP,
    OK,
    REPEAT,
    TC,
    USE,
    ScriptedProvider,
    T,
    _,
)

from agent_chat.core.errors import FailureKind
from agent_chat.core.events import AttemptFailed, ParameterDropped
from agent_chat.core.messages import AssistantMessage, SystemMessage, ToolCall, ToolMessage, UserMessage
from agent_chat.core.model import TextDelta, Usage
from agent_chat.models.attempt import AttemptModel
from agent_chat.models.litellm_model import LiteLLMModel

# LiteLLM's own; the program silences them for itself.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*ReadOnly.*:UserWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the .*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:(?s).*Pydantic serializer warnings.*:UserWarning"),
]

A, B = '{"text":"a"}', '{"text":"b"}'
Transport = Callable[..., AttemptModel]


def through_litellm(base: str, **changes: Any) -> LiteLLMModel:
    return opened(LiteLLMModel(target(base, **changes)))


@pytest.fixture(params=[direct, through_litellm], ids=["direct", "litellm"])
def transport(request: pytest.FixtureRequest) -> Transport:
    return request.param


async def test_text(provider: ProviderFactory, transport: Transport) -> None:
    server = provider([T("Hel"), T("lo"), FIN("stop"), USE(7, 2, cached=4, reasoning=1)], strict=True)
    ran = await run(transport(server.base_url))
    assert ran.reply.text == ran.text == "Hello"
    assert ran.reply.finish_reason == "stop"
    assert ran.reply.usage == Usage(7, 4, 2, 1)
    assert ran.reply.model == "openai/m"
    assert [item.text for item in ran.of(TextDelta)] == ["Hel", "lo"]


async def test_the_request_is_the_same(provider: ProviderFactory, transport: Transport) -> None:
    server = provider(OK, strict=True)
    call = ToolCall("c1", "echo", A)
    history = (
        SystemMessage("s"),
        UserMessage("u"),
        AssistantMessage("", (call,), "openai/m", {"reasoning_content": "r"}),
        ToolMessage("c1", "echo", "a"),
    )
    parameters = {"temperature": 0.2}
    model = transport(server.base_url, parameters=parameters, headers={"X-Team": "blue"})
    assert (await run(model, query(*history))).reply.text == "ok"
    (request,) = server.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["x-team"] == "blue"
    body = request.body
    assert (body["model"], body["stream"], body["temperature"]) == ("m", True, 0.2)
    assert body["stream_options"] == {"include_usage": True}
    assert [tool["function"]["name"] for tool in body["tools"]] == ["echo"]
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "tool"]
    assert body["messages"][2]["tool_calls"][0]["function"] == {"name": "echo", "arguments": A}
    assert body["messages"][2]["reasoning_content"] == "r"
    assert body["messages"][3]["tool_call_id"] == "c1"


async def test_parallel_calls_in_interleaved_pieces(provider: ProviderFactory, transport: Transport) -> None:
    server = provider([
        TC(0, "c1", "echo", ""), TC(1, "c2", "nap", ""), TC(0, _, None, '{"te'), TC(1, _, None, '{"tag":'),
        [TC(0, _, _, 'xt":"a"}'), TC(1, _, _, '"z"}')], FIN("tool_calls"),
    ])  # fmt: skip
    reply = (await run(transport(server.base_url))).reply
    assert reply.calls == (ToolCall("c1", "echo", A), ToolCall("c2", "nap", '{"tag":"z"}'))
    assert reply.finish_reason == "tool_calls"


async def test_calls_without_ids(provider: ProviderFactory, transport: Transport) -> None:
    server = provider([TC(0, _, "echo", A), TC(1, _, "echo", B), FIN("tool_calls")])
    reply = (await run(transport(server.base_url))).reply
    assert [(call.name, call.arguments) for call in reply.calls] == [("echo", A), ("echo", B)]
    assert len({call.id for call in reply.calls} - {""}) == 2


async def test_two_calls_that_share_an_index(provider: ProviderFactory, transport: Transport) -> None:
    server = provider([TC(0, "c1", "echo", A), TC(0, "c2", "echo", B), FIN("tool_calls")])
    reply = (await run(transport(server.base_url))).reply
    assert reply.calls == (ToolCall("c1", "echo", A), ToolCall("c2", "echo", B))


async def test_r12_reasoning_travels_back(provider: ProviderFactory, transport: Transport) -> None:
    block = {"type": "thinking", "thinking": "r1", "signature": "sigA+/=="}
    first = [
        DELTA({"reasoning_content": "r1", "thinking_blocks": [block]}),
        TC(0, "c1", "echo", A),
        FIN("tool_calls"),
    ]
    server = provider(first, OK, strict=True)
    model = transport(server.base_url)
    reply = (await run(model)).reply
    assert reply.reasoning == "r1"
    said = AssistantMessage(reply.text, reply.calls, reply.model, reply.extras)
    await run(model, query(SystemMessage("s"), UserMessage("u"), said, ToolMessage("c1", "echo", "a")))
    sent = server.bodies[1]["messages"][2]
    assert sent["reasoning_content"] == "r1"
    assert sent["thinking_blocks"] == [block]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (HTTP(400, body={"error": {"type": "invalid_request_error", "message": "words"}}), "request"),
        (HTTP(401, body={"error": {"code": "invalid_api_key", "message": "words"}}), "auth"),
        (HTTP(403, body={"error": {"message": "words"}}), "auth"),
        (HTTP(404, body={"error": {"code": "model_not_found", "message": "words"}}), "not_found"),
        (HTTP(429, body={"error": {"code": "insufficient_quota", "message": "words"}}), "quota"),
        (HTTP(429, body={"error": {"message": "words"}}), "rate_limited"),
        (
            HTTP(400, body={"error": {"message": "This model's maximum context length is 9 words."}}),
            "context_overflow",
        ),
        (HTTP(500, body={"error": {"message": "words"}}), "unavailable"),
        (HTTP(503, body={"error": {"message": "words"}}), "unavailable"),
        (HTTP(529, body={"error": {"message": "words"}}), "unavailable"),
        ([CHUNK({"error": {"type": "overloaded_error", "message": "words"}}), CUT], "unavailable"),
    ],
)  # fmt: skip
async def test_errors(
    provider: ProviderFactory, transport: Transport, answer: Any, kind: FailureKind
) -> None:
    server = provider(REPEAT(answer))
    error = (await run(transport(server.base_url))).error
    assert error.kind == kind
    assert "words" in error.message
    assert "openai/m" in error.message
    assert len(server.requests) == 1, "a transport never asks twice by itself"


async def test_r14_the_wait_that_was_asked_for(provider: ProviderFactory, transport: Transport) -> None:
    server = provider(HTTP(429, {"Retry-After": "2"}))
    assert (await run(transport(server.base_url))).error.retry_after == 2.0


async def test_r15_and_r46_a_refused_key_is_named_and_not_shown(
    provider: ProviderFactory, transport: Transport
) -> None:
    words = f"bad key {KEY} at https://h?key=AIzaTESTKEY123 with Authorization: Bearer {KEY}"
    server = provider(HTTP(401, body={"error": {"message": words}}))
    message = (await run(transport(server.base_url))).error.message
    assert "OPENAI_API_KEY" in message
    assert "bad key" in message
    assert "TEST" not in message


async def test_r17_a_broken_stream(provider: ProviderFactory, transport: Transport) -> None:
    server = provider([T("Hello wor"), CUT], [T("Hello world."), FIN("stop"), DONE])
    ran = await run(retrying(transport(server.base_url)))
    assert ran.reply.text == "Hello world."
    assert [(failed.failure, failed.discarded) for failed in ran.of(AttemptFailed)] == [("connection", True)]


async def test_r18_silence(provider: ProviderFactory, transport: Transport) -> None:
    # The first request through LiteLLM takes longer than the limit below, for reasons of its own.
    server = provider(OK, [T("a"), HANG])
    await run(transport(server.base_url))
    error = (await run(transport(server.base_url, idle_limit=0.5))).error
    assert error.kind == "timeout"
    assert "no data for 0.5 s" in error.message


async def test_r20_a_refused_parameter(provider: ProviderFactory, transport: Transport) -> None:
    refusal = HTTP(400, body={"error": {"message": "Unsupported parameter: temperature"}})
    server = provider(refusal, OK)
    ran = await run(retrying(transport(server.base_url, parameters={"temperature": 0.2})))
    assert ran.reply.text == "ok"
    assert [notice.parameter for notice in ran.of(ParameterDropped)] == ["temperature"]
    assert ["temperature" in body for body in server.bodies] == [True, False]


async def test_r21_no_price(provider: ProviderFactory, transport: Transport) -> None:
    server = provider([T("ok"), FIN("stop"), USE(3, 1)])
    reply = (await run(transport(server.base_url, model="openai/my-local-7b", sent_as="my-local-7b"))).reply
    assert (reply.usage, reply.cost_usd) == (Usage(3, 0, 1, 0), None)


async def test_usage_that_nobody_tells_of_is_unknown_and_not_nothing(
    provider: ProviderFactory, transport: Transport
) -> None:
    server = provider([T("ok"), FIN("stop"), DONE])
    reply = (await run(transport(server.base_url, model="openai/gpt-4.1-mini"))).reply
    assert (reply.usage, reply.cost_usd) == (None, None)


async def test_a_finish_reason_completes_a_reply_though_the_stream_hangs(
    provider: ProviderFactory, transport: Transport
) -> None:
    stop = CHUNK({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    server = provider([T("ok"), stop, HANG])
    assert (await run(transport(server.base_url))).reply.text == "ok"


async def test_lone_surrogates_reach_nobody(provider: ProviderFactory, transport: Transport) -> None:
    server = provider(OK, strict=True)
    assert (await run(transport(server.base_url), query(SystemMessage("s"), UserMessage("a\ud800b")))).reply
    assert server.bodies[0]["messages"][1]["content"] == "a\ufffdb"


async def cancel_midway(server: ScriptedProvider, model: AttemptModel) -> float:
    """Seconds until the server saw the connection closed."""
    stream = model.stream(query())
    await anext(stream)
    task = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    cancelled_at = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return await server.requests[-1].closed_early() - cancelled_at


async def test_cancelling_closes_the_request_at_once(provider: ProviderFactory, transport: Transport) -> None:
    server = provider([T("a"), HANG])
    assert await cancel_midway(server, transport(server.base_url)) < 0.1


async def test_closing_the_generator_closes_the_request(
    provider: ProviderFactory, transport: Transport
) -> None:
    server = provider([T("a"), HANG])
    stream = transport(server.base_url).stream(query())
    await anext(stream)
    closed_at = time.monotonic()
    await stream.aclose()
    assert await server.requests[0].closed_early() - closed_at < 0.1
