"""The same flows through LiteLLM: OpenAI's format, and two other providers' own.

Few, because importing it takes seconds: what a transport has to keep is held by the contract in tests/wire.
"""

from __future__ import annotations

from support import anthropic, gemini
from support.anthropic import ScriptedAnthropic
from support.fixtures import Command, ProviderFactory
from support.flows import QUICK, tool_results
from support.gemini import ScriptedGemini
from support.provider import CUT, DELTA, FIN, HTTP, OK, TC, T

LITELLM = ("-C", "transport=litellm")
EXPRESSION = '{"expression":"1+1"}'


def test_a_conversation_through_litellm(chat: Command, provider: ProviderFactory) -> None:
    call = [DELTA({"reasoning_content": "r1"}), TC(0, "c1", "calc", EXPRESSION), FIN("tool_calls")]
    server = provider(call, OK, OK, strict=True)
    result = chat(*LITELLM, provider=server, stdin=b"one\ntwo\n")
    assert (result.stdout, result.code) == (b"ok\nok\n", 0)
    assert len(result.err.splitlines()) == 2
    assert result.err.splitlines()[0] == '* calc(expression="1+1")'
    assert tool_results(server.bodies[1]) == {"c1": "2"}
    assert len(server.bodies[2]["messages"]) == 6


def test_r14_r15_r17_failures_through_litellm(single: Command, provider: ProviderFactory) -> None:
    server = provider(HTTP(429, {"Retry-After": "1"}), [T("Hello wor"), CUT], HTTP(401))
    result = single(*LITELLM, "hi", provider=server)
    assert (result.stdout, result.code) == (b"", 1)
    assert server.requests[1].arrived_at - server.requests[0].arrived_at >= 1
    last = result.err.splitlines()[-2]
    assert last.startswith("error: ")
    assert "OPENAI_API_KEY" in last
    assert "Hello wor" not in result.err
    assert "Traceback" not in result.err
    assert "Give Feedback" not in result.err


def test_anthropic_in_its_own_format(chat: Command) -> None:
    first = [
        anthropic.THINK("let me see", "sigA"),
        anthropic.T("Let me "),
        anthropic.T("calculate."),
        anthropic.TOOL("t1", "calc", '{"expre', 'ssion":"17*23"}'),
        anthropic.FIN("tool_use", 10, 5),
    ]
    second = [anthropic.T("It is "), anthropic.T("391."), anthropic.FIN("end_turn", 20, 5)]
    with ScriptedAnthropic([first, second, anthropic.OK]) as server:
        result = chat(
            *("-m", "anthropic/claude-sonnet-4-5", "--api-base", server.address),
            stdin=b"17*23?\nthanks\n",
            ANTHROPIC_API_KEY="sk-ant-test",
        )
    assert (result.stdout, result.code) == (b"It is 391.\nok\n", 0)
    assert "Warning" not in result.err
    reply, answer = server.bodies[1]["messages"][-2:]
    blocks = {block["type"]: block for block in reply["content"]}
    assert blocks["thinking"]["signature"] == "sigA"
    assert blocks["text"]["text"] == "Let me calculate."
    assert blocks["tool_use"]["input"] == {"expression": "17*23"}
    (told,) = answer["content"]
    assert (told["type"], told["tool_use_id"]) == ("tool_result", "t1")
    assert "391" in str(told["content"])
    assert [message["role"] for message in server.bodies[2]["messages"]] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]


def test_gemini_in_its_own_format(chat: Command) -> None:
    first = [
        gemini.CALL("calc", {"expression": "17*23"}, signature="sigA"),
        gemini.CALL("calc", {"expression": "1+1"}),
        gemini.FIN("STOP", 10, 5),
    ]
    second = [gemini.T("It is "), gemini.T("391."), gemini.FIN("STOP", 20, 5)]
    with ScriptedGemini([first, second, gemini.OK]) as server:
        result = chat(
            *("-m", "gemini/gemini-2.5-flash", "--api-base", server.base_url),
            stdin=b"17*23?\nthanks\n",
            GEMINI_API_KEY="AIzaTESTKEY123",
        )
    assert (result.stdout, result.code) == (b"It is 391.\nok\n", 0)
    assert "Warning" not in result.err
    assert "ReadOnly" not in result.err
    call, answer = server.bodies[1]["contents"][-2:]
    assert [part["function_call"]["args"]["expression"] for part in call["parts"]] == ["17*23", "1+1"]
    assert call["parts"][0]["thoughtSignature"] == "sigA"
    assert ["391" in str(part) for part in answer["parts"]] == [True, False]
    assert "AIzaTESTKEY123" not in result.err


def test_a_failing_provider_of_another_format_falls_back(single: Command, provider: ProviderFactory) -> None:
    server = provider(OK)
    overloaded = anthropic.ERROR(529, "overloaded_error", "busy")
    with ScriptedAnthropic([overloaded, overloaded]) as first:
        result = single(
            *("-m", "anthropic/claude-sonnet-4-5", "--api-base", first.address, *QUICK),
            *("--fallback", "openai/second", "hi"),
            provider=server,
            ANTHROPIC_API_KEY="sk-ant-test",
        )
    assert (result.stdout, result.code) == (b"ok\n", 0)
    assert "busy" in result.err
    assert "switching from anthropic/claude-sonnet-4-5 to openai/second" in result.err
