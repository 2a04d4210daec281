"""The real LiteLLM client takes the scripted providers for real ones."""

from __future__ import annotations

import os
from typing import Any

import pytest
from support import anthropic, gemini
from support.anthropic import ScriptedAnthropic
from support.gemini import ScriptedGemini
from support.provider import FIN, OK, TC, USE, ScriptedProvider, T, _

# LiteLLM imports this module with the first request to Gemini, and pydantic warns of a type in it.
pytestmark = pytest.mark.filterwarnings("ignore:.*ReadOnly.*:UserWarning")

Message = dict[str, Any]

USER: list[Message] = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
ECHO: Message = {
    "type": "function",
    "function": {
        "name": "echo",
        "description": "Says it again.",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    },
}


@pytest.fixture(scope="module")
def litellm() -> Any:
    # Set before the import, or it fetches a price list.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import litellm as module

    module.suppress_debug_info = True
    return module


async def stream(litellm: Any, model: str, api_base: str, messages: list[Message]) -> Any:
    """The reply put together by LiteLLM."""
    reply = await litellm.acompletion(
        model=model,
        api_base=api_base,
        api_key="k",
        messages=messages,
        tools=[ECHO],
        stream=True,
        stream_options={"include_usage": True},
        num_retries=0,
        max_retries=0,
        timeout=10,
    )
    return litellm.stream_chunk_builder([chunk async for chunk in reply])


async def round_trip(litellm: Any, model: str, api_base: str) -> tuple[Any, Any]:
    """A call and its answer: both replies."""
    first = await stream(litellm, model, api_base, USER)
    message = first.choices[0].message
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "echoed"}
    second = await stream(litellm, model, api_base, [*USER, message.model_dump(), result])
    return first, second


def call_of(reply: Any) -> tuple[str, str, str]:
    (call,) = reply.choices[0].message.tool_calls
    return call.function.name, call.function.arguments.replace(" ", ""), reply.choices[0].finish_reason


async def test_openai(litellm: Any) -> None:
    call = [TC(0, "c1", "echo", ""), TC(0, _, _, '{"text":'), TC(0, _, _, '"a"}'), FIN("tool_calls")]
    with ScriptedProvider([call, [T("do"), T("ne"), FIN("stop"), USE(7, 2)], OK], strict=True) as provider:
        first, second = await round_trip(litellm, "openai/m", provider.base_url)
        await litellm.acompletion(
            model="openai/m", api_base=provider.base_url, api_key="k", messages=USER, num_retries=0
        )
    assert call_of(first) == ("echo", '{"text":"a"}', "tool_calls")
    assert second.choices[0].message.content == "done"
    assert (second.usage.prompt_tokens, second.usage.completion_tokens) == (7, 2)
    assert [body.get("stream") for body in provider.bodies] == [True, True, None]


async def test_anthropic(litellm: Any) -> None:
    a = anthropic
    call = [
        a.THINK("why", "sigA"),
        a.T("let me"),
        a.TOOL("toolu_1", "echo", '{"text":', '"a"}'),
        a.FIN("tool_use", 10, 5),
    ]
    answer = [a.T("do"), a.T("ne"), a.FIN("end_turn", 20, 2, cached=4)]
    with ScriptedAnthropic([call, answer]) as provider:
        first, second = await round_trip(litellm, "anthropic/claude-sonnet-4-5", provider.address)
    assert call_of(first) == ("echo", '{"text":"a"}', "tool_calls")
    message = first.choices[0].message
    assert message.content == "let me"
    assert message.thinking_blocks == [{"type": "thinking", "thinking": "why", "signature": "sigA"}]
    assert second.choices[0].message.content == "done"
    assert second.usage.completion_tokens == 2
    sent = provider.bodies[1]["messages"]
    assert sent[-1]["content"][0]["type"] == "tool_result"
    assert sent[-1]["content"][0]["tool_use_id"] == "toolu_1"
    assert any(block.get("signature") == "sigA" for block in sent[-2]["content"])
    assert provider.requests[0].headers["x-api-key"] == "k"


async def test_anthropic_without_streaming(litellm: Any) -> None:
    a = anthropic
    with ScriptedAnthropic([[a.T("a"), a.TOOL("t1", "echo", "{}"), a.FIN("tool_use", 3, 4)]]) as provider:
        reply = await litellm.acompletion(
            model="anthropic/claude-sonnet-4-5",
            api_base=provider.address,
            api_key="k",
            messages=USER,
            tools=[ECHO],
        )
    assert call_of(reply) == ("echo", "{}", "tool_calls")
    assert reply.choices[0].message.content == "a"


async def test_anthropic_errors_are_taken_for_anthropic_s(litellm: Any) -> None:
    a = anthropic
    with (
        ScriptedAnthropic([a.ERROR(529, "overloaded_error", "busy")]) as provider,
        pytest.raises(litellm.InternalServerError, match="busy"),
    ):
        await stream(litellm, "anthropic/claude-sonnet-4-5", provider.address, USER)


async def test_gemini(litellm: Any) -> None:
    g = gemini
    call = [g.THINK("why"), g.CALL("echo", {"text": "a"}, signature="sigA"), g.FIN("STOP", 10, 5)]
    with ScriptedGemini([call, [g.T("do"), g.T("ne"), g.FIN("STOP", 20, 2)]]) as provider:
        first, second = await round_trip(litellm, "gemini/gemini-2.5-flash", provider.base_url)
    assert call_of(first) == ("echo", '{"text":"a"}', "tool_calls")
    assert second.choices[0].message.content == "done"
    assert (second.usage.prompt_tokens, second.usage.completion_tokens) == (20, 2)
    parts = [part for content in provider.bodies[1]["contents"] for part in content["parts"]]
    assert parts[-2] == {
        "function_call": {"name": "echo", "args": {"text": "a"}},
        "thoughtSignature": "sigA",
    }
    assert parts[-1]["function_response"]["response"] == {"content": "echoed"}


async def test_gemini_without_streaming(litellm: Any) -> None:
    g = gemini
    with ScriptedGemini([[g.T("a"), g.CALL("echo", {}), g.FIN()]]) as provider:
        reply = await litellm.acompletion(
            model="gemini/gemini-2.5-flash",
            api_base=provider.base_url,
            api_key="k",
            messages=USER,
            tools=[ECHO],
        )
    assert call_of(reply)[0] == "echo"
    assert reply.choices[0].message.content == "a"


async def test_gemini_errors_are_taken_for_gemini_s(litellm: Any) -> None:
    # LiteLLM opens Gemini's stream at the first read, hence its error for a broken stream.
    with (
        ScriptedGemini([gemini.ERROR(429, "RESOURCE_EXHAUSTED", "slow down")]) as provider,
        pytest.raises(litellm.exceptions.MidStreamFallbackError, match="slow down") as caught,
    ):
        await stream(litellm, "gemini/gemini-2.5-flash", provider.base_url, USER)
    assert isinstance(caught.value.original_exception, litellm.RateLimitError)
