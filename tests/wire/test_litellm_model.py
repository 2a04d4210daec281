"""What is LiteLLM's own: other providers' wire formats, its exceptions, its silence."""

from __future__ import annotations

import inspect
import logging
import os
import subprocess
import sys
from typing import Any, get_args

import pytest
from support import anthropic, gemini
from support.anthropic import ScriptedAnthropic
from support.chat_models import opened, query, run, target
from support.gemini import ScriptedGemini

from agent_chat.core.errors import FailureKind
from agent_chat.core.messages import AssistantMessage, ToolMessage
from agent_chat.core.model import Query, Usage
from agent_chat.models import litellm_loader
from agent_chat.models.failure_kinds import EXCEPTIONS
from agent_chat.models.failures import Failures
from agent_chat.models.litellm_model import LiteLLMModel

# LiteLLM's own; the program silences them for itself.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*ReadOnly.*:UserWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the .*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:(?s).*Pydantic serializer warnings.*:UserWarning"),
]

A = '{"text":"a"}'


def claude(base: str) -> LiteLLMModel:
    model = "anthropic/claude-sonnet-5-5"
    return opened(LiteLLMModel(target(base, model=model, key_source="ANTHROPIC_API_KEY")))


def gemini_flash(base: str) -> LiteLLMModel:
    model = "gemini/gemini-3.8-flash"
    return opened(LiteLLMModel(target(base, model=model, key_source="GEMINI_API_KEY")))


async def round_trip(model: LiteLLMModel) -> tuple[Any, Any]:
    """A reply with a call, and the reply to its result."""
    first = (await run(model)).reply
    said = AssistantMessage(first.text, first.calls, first.model, first.extras)
    results = [ToolMessage(call.id, call.name, "echoed") for call in first.calls]
    second = await run(model, query(*query().messages, said, *results))
    return first, second.reply


async def test_anthropic_s_own_format() -> None:
    a = anthropic
    call = [
        a.THINK("why", "sigA"),
        a.T("let me"),
        a.TOOL("toolu_1", "echo", '{"text":', '"a"}'),
        a.FIN("tool_use", 10, 5),
    ]
    with ScriptedAnthropic([call, [a.T("do"), a.T("ne"), a.FIN("end_turn", 20, 2, cached=4)]]) as server:
        first, second = await round_trip(claude(server.address))
    assert (first.text, first.reasoning, first.finish_reason) == ("let me", "why", "tool_calls")
    assert [(call.id, call.name, call.arguments) for call in first.calls] == [("toolu_1", "echo", A)]
    assert (second.text, second.finish_reason) == ("done", "stop")
    assert (second.usage.prompt, second.usage.cached, second.usage.completion) == (24, 4, 2)
    assert second.cost_usd > 0
    sent = server.bodies[1]["messages"]
    thought, text, use = sent[-2]["content"]
    assert (thought["thinking"], thought["signature"]) == ("why", "sigA")
    assert text["text"] == "let me"
    assert (use["id"], use["input"]) == ("toolu_1", {"text": "a"})
    assert sent[-1]["content"][0]["tool_use_id"] == "toolu_1"
    assert len(server.requests) == 2


async def test_anthropic_is_told_what_to_cache_and_the_prefix_stays() -> None:
    a = anthropic
    call = [a.TOOL("toolu_1", "echo", A), a.FIN("tool_use")]
    with ScriptedAnthropic([call, a.OK]) as server:
        await round_trip(claude(server.address))
    for body in server.bodies:
        assert body["system"][-1]["cache_control"] == {"type": "ephemeral"}
        assert body["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}
    first, second = server.bodies
    assert first["tools"] == second["tools"]
    assert first["system"] == second["system"]
    # Where the first request ended the second one looks for what that left.
    assert second["messages"][0] == first["messages"][0]
    marked = [one for one in second["messages"] if "cache_control" in one["content"][-1]]
    assert marked == [second["messages"][0], second["messages"][-1]]


@pytest.mark.parametrize(
    ("status", "kind", "message", "expected"),
    [
        (400, "invalid_request_error", "no such field", "request"),
        (400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", "context_overflow"),
        (400, "invalid_request_error", "Your credit balance is too low to access the API", "quota"),
        (401, "authentication_error", "invalid x-api-key", "auth"),
        (403, "permission_error", "not for you", "auth"),
        (404, "not_found_error", "model: claude-none", "not_found"),
        (429, "rate_limit_error", "slow down", "rate_limited"),
        (500, "api_error", "oops", "unavailable"),
        (529, "overloaded_error", "busy", "unavailable"),
    ],
)  # fmt: skip
async def test_anthropic_s_errors(status: int, kind: str, message: str, expected: FailureKind) -> None:
    with ScriptedAnthropic([anthropic.ERROR(status, kind, message, {"retry-after": "3"})]) as server:
        error = (await run(claude(server.address))).error
    assert error.kind == expected
    assert message.split(":")[0] in error.message
    assert len(server.requests) == 1
    if expected == "auth":
        assert "ANTHROPIC_API_KEY" in error.message
    if expected == "rate_limited":
        assert error.retry_after == 3.0


async def test_anthropic_s_errors_inside_a_stream() -> None:
    a = anthropic
    busy = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    with ScriptedAnthropic([[a.T("Hel"), a.EVENT("error", busy)]]) as server:
        error = (await run(claude(server.address))).error
    assert error.policy.reason == "model_unavailable"
    assert "busy" in error.message


async def test_gemini_s_own_format() -> None:
    g = gemini
    call = [g.THINK("why"), g.CALL("echo", {"text": "a"}, signature="sigA"), g.FIN("STOP", 10, 5)]
    with ScriptedGemini([call, [g.T("do"), g.T("ne"), g.FIN("STOP", 20, 2)]]) as server:
        first, second = await round_trip(gemini_flash(server.base_url))
    assert first.reasoning == "why"
    assert [(call.name, call.arguments.replace(" ", "")) for call in first.calls] == [("echo", A)]
    assert first.calls[0].id
    assert (second.text, second.usage) == ("done", Usage(20, 0, 2, 0))
    parts = [part for content in server.bodies[1]["contents"] for part in content["parts"]]
    (called,) = [part for part in parts if "functionCall" in part or "function_call" in part]
    assert called["thoughtSignature"] == "sigA"
    assert any("functionResponse" in part or "function_response" in part for part in parts)


@pytest.mark.parametrize(
    ("status", "kind", "message", "expected"),
    [
        (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", "auth"),
        (400, "INVALID_ARGUMENT", "token count (9) exceeds the maximum number of tokens", "context_overflow"),
        (404, "NOT_FOUND", "models/none is not found", "not_found"),
        (429, "RESOURCE_EXHAUSTED", "slow down", "rate_limited"),
        (503, "UNAVAILABLE", "The model is overloaded.", "unavailable"),
    ],
)  # fmt: skip
async def test_gemini_s_errors(status: int, kind: str, message: str, expected: FailureKind) -> None:
    with ScriptedGemini([gemini.ERROR(status, kind, message)]) as server:
        error = (await run(gemini_flash(server.base_url))).error
    assert error.kind == expected
    assert message[:20] in error.message
    assert len(server.requests) == 1


async def test_every_exception_of_litellm_is_mapped() -> None:
    """Fails when LiteLLM adds one: put it into `failure_kinds.EXCEPTIONS`."""
    await litellm_loader.litellm()
    from litellm import exceptions

    found = {
        name
        for name, value in inspect.getmembers(exceptions, inspect.isclass)
        if issubclass(value, Exception) and value.__module__ == exceptions.__name__
    }
    assert len(found) > 20
    assert found - set(EXCEPTIONS) == set()
    assert set(EXCEPTIONS.values()) <= set(get_args(FailureKind))


async def test_an_exception_that_is_new_is_taken_for_its_base() -> None:
    module = await litellm_loader.litellm()

    class NewRateLimit(module.RateLimitError):
        pass

    raised = NewRateLimit("slow down", llm_provider="x", model="m")
    failures = Failures.of(target("http://h/v1"))
    assert failures.from_exception(raised).kind == "rate_limited"
    assert failures.from_exception(KeyError("bug")).kind == "unavailable"


async def test_r20_a_parameter_that_litellm_refuses_is_named() -> None:
    module = await litellm_loader.litellm()
    message = "openai does not support parameters: ['temperature'], for model=o9. To drop these, set ..."
    raised = module.UnsupportedParamsError(message, llm_provider="openai", model="o9")
    failure = Failures.of(target("http://h/v1")).from_exception(raised)
    assert (failure.kind, failure.parameter) == ("unsupported_parameter", "temperature")


async def test_it_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with ScriptedAnthropic([anthropic.ERROR(500, "api_error", "oops"), anthropic.OK]) as server:
        model = claude(server.address)
        await run(model)
        await run(model)
        await model.warm(Query(()))
    assert capfd.readouterr() == ("", "")
    assert not logging.getLogger("LiteLLM").isEnabledFor(logging.CRITICAL)


PROGRAM = """
import asyncio, socket, sys
connected = []
connect = socket.socket.connect
def note(self, address):
    connected.append(address)
    return connect(self, address)
socket.socket.connect = note
from agent_chat.models.attempt import Target
from agent_chat.models.litellm_model import LiteLLMModel
from agent_chat.core.messages import UserMessage
from agent_chat.core.model import Query, Reply
assert "litellm" not in sys.modules, "loaded too early"
async def main():
    model = LiteLLMModel(Target("m", "anthropic/claude-sonnet-5-5", "m", sys.argv[1], "k"))
    query = Query((UserMessage("hi"),))
    await model.warm(query)
    assert not connected, connected
    async for item in model.stream(query):
        if isinstance(item, Reply):
            print(item.text)
    await model.close()
asyncio.run(main())
host = sys.argv[1].removeprefix("http://")
strange = [address for address in connected if f"{address[0]}:{address[1]}" != host]
assert not strange, strange
"""


def test_a_program_of_its_own_is_silent_and_talks_to_the_provider_only() -> None:
    with ScriptedAnthropic([anthropic.OK]) as server:
        done = subprocess.run(
            [sys.executable, "-W", "default", "-c", PROGRAM, server.address],
            capture_output=True,
            text=True,
            timeout=120,
            env={name: value for name, value in os.environ.items() if name != "LITELLM_LOCAL_MODEL_COST_MAP"},
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")
