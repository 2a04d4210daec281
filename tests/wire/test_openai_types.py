"""What the direct transport sends and takes fits the types of OpenAI's own client."""

from __future__ import annotations

from typing import Any, get_type_hints

import pytest
from openai.types.chat import (
    ChatCompletionChunk,
    ChatCompletionFunctionToolParam,
    ChatCompletionMessageParam,
    completion_create_params,
)
from pydantic import TypeAdapter
from support.chat_models import ECHO, direct, run
from support.fixtures import ProviderFactory
from support.provider import OK

from agent_chat.core.messages import AssistantMessage, SystemMessage, ToolCall, ToolMessage, UserMessage
from agent_chat.core.model import Query, Reply, Usage
from agent_chat.models.assembly import Assembly

HISTORY = (
    SystemMessage("s"),
    UserMessage("u"),
    AssistantMessage("look", (ToolCall("c1", "echo", '{"text":"a"}'), ToolCall("c2", "echo", "{}"))),
    ToolMessage("c1", "echo", "a"),
    ToolMessage("c2", "echo", "b"),
    AssistantMessage("done"),
    UserMessage("more"),
)
QUERIES = [
    Query(HISTORY, (ECHO,)),
    Query(HISTORY, (ECHO,), "none", 100),
    Query(HISTORY[:2]),
]


@pytest.mark.parametrize("asked", QUERIES)
async def test_bodies(provider: ProviderFactory, asked: Query) -> None:
    server = provider(OK, strict=True)
    await run(direct(server.base_url, parameters={"temperature": 0.2, "reasoning_effort": "low"}), asked)
    (body,) = server.bodies
    known = get_type_hints(completion_create_params.CompletionCreateParamsStreaming)
    assert set(body) <= set(known)
    TypeAdapter[Any](completion_create_params.CompletionCreateParamsStreaming).validate_python(body)
    # Lists inside are checked only when they are looked at.
    message = TypeAdapter[Any](ChatCompletionMessageParam)
    for sent in body["messages"]:
        message.validate_python(sent)
    for tool in body.get("tools", []):
        TypeAdapter(ChatCompletionFunctionToolParam).validate_python(tool)


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": None,
    }


CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "echo", "arguments": ""}}
CHUNKS: list[dict[str, Any]] = [
    chunk({"role": "assistant", "content": "", "refusal": None}),
    chunk({"content": "Hi"}),
    chunk({"tool_calls": [CALL]}),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"text":"a"}'}}]}),
    chunk({}, "tool_calls"),
    {
        **chunk({}),
        "choices": [],
        "usage": {
            "prompt_tokens": 9,
            "completion_tokens": 5,
            "total_tokens": 14,
            "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 2, "audio_tokens": 0},
        },
    },
]


def test_chunks_as_openai_s_client_knows_them() -> None:
    assembly = Assembly()
    for raw in CHUNKS:
        typed = ChatCompletionChunk.model_validate(raw, strict=True)
        assembly.feed(typed.model_dump())
    assert assembly.reply("m") == Reply(
        "Hi", (ToolCall("c1", "echo", '{"text":"a"}'),), "tool_calls", "m", Usage(9, 4, 5, 2)
    )
