"""The events of Anthropic and Gemini that their clients do not show."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from support import anthropic as a
from support import gemini as g
from support.provider import CUT


def post(url: str, *, stream: bool = True) -> httpx.Response:
    with httpx.Client(trust_env=False, timeout=10) as client:
        return client.post(url, json={"model": "m", "stream": stream})


def events(text: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for block in text.strip().split("\n\n"):
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_anthropic_opens_and_closes_each_block() -> None:
    reply = [
        a.T("x"),
        a.T("y"),
        a.THINK("w", "s"),
        a.TOOL("t", "n", "{", "}"),
        a.FIN("tool_use", 9, 8, cached=7),
    ]
    with a.ScriptedAnthropic([reply]) as provider:
        found = events(post(f"{provider.address}/v1/messages").text)
    assert [name for name, _ in found] == [
        "message_start",
        *("content_block_start", "content_block_delta", "content_block_delta", "content_block_stop"),
        *("content_block_start", "content_block_delta", "content_block_delta", "content_block_stop"),
        *("content_block_start", "content_block_delta", "content_block_delta", "content_block_stop"),
        "message_delta",
        "message_stop",
    ]
    assert [data["index"] for _, data in found if "index" in data] == [0] * 4 + [1] * 4 + [2] * 4
    assert all(name == data["type"] for name, data in found)
    assert found[0][1]["message"]["usage"]["input_tokens"] == 9
    assert found[0][1]["message"]["usage"]["cache_read_input_tokens"] == 7
    assert found[-2][1]["delta"]["stop_reason"] == "tool_use"
    assert found[-2][1]["usage"] == {"output_tokens": 8}


def test_anthropic_can_break_off_with_an_error_event() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    with a.ScriptedAnthropic([[a.T("x"), a.EVENT("error", error)], [a.T("x"), CUT]]) as provider:
        assert events(post(f"{provider.address}/v1/messages").text)[-1] == ("error", error)
        with pytest.raises(httpx.RemoteProtocolError):
            post(f"{provider.address}/v1/messages")


def test_gemini_answers_only_its_two_methods() -> None:
    provider = g.ScriptedGemini([g.OK], allow_failures=True).start()
    base = f"{provider.base_url}/models/gemini-x"
    assert post(f"{base}:countTokens").status_code == 404
    stream = post(f"{base}:streamGenerateContent?alt=sse").text
    provider.stop()
    found = [json.loads(line.removeprefix("data: ")) for line in stream.split("\r\n\r\n") if line]
    assert [chunk["candidates"][0]["content"]["parts"] for chunk in found] == [
        [{"text": "ok"}],
        [{"text": ""}],
    ]
    assert found[-1]["candidates"][0]["finishReason"] == "STOP"
    assert provider.requests[0].query == "alt=sse"
    provider.check()


def test_errors_beyond_the_script_have_the_provider_s_own_shape() -> None:
    with a.ScriptedAnthropic([], allow_failures=True) as provider:
        assert post(f"{provider.address}/v1/messages").json()["type"] == "error"
    with g.ScriptedGemini([], allow_failures=True) as provider:
        assert post(f"{provider.base_url}/models/x:generateContent").json()["error"]["status"] == "INTERNAL"
