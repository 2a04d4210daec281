"""From one request to one reply, in as many rounds with the model as its smallness takes.

1. It writes freely. Text is passed on as it comes, until what it writes is the beginning of a call.
2. Then it is asked again for calls alone, held to the schemas of the tools. The prompt is cached, so this
   costs the few tokens of the beginning. (Left to find the calls by itself, llama.cpp fails on the second one
   of a reply, and on a call in a code fence.)
3. Calls that were just made and have their results: asked once more, in words.
"""

import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from agent_chat.local.calls import Call, goes_round, read_calls, repeats, whole_calls
from agent_chat.local.draft import Draft
from agent_chat.local.few_shot import Body, calls_only, in_words, offered_names
from agent_chat.local.generation import Chunk

Generate = Callable[[Body], AsyncGenerator[Chunk, None]]
"""One round: a request in, its chunks out; closed early, it stops."""


async def answer(body: Body, generate: Generate) -> AsyncGenerator[Chunk, None]:
    """The chunks of the reply to a prepared request. Raises LocalModelError."""
    draft = Draft(offered_names(body))
    required = body.get("tool_choice") == "required"
    if not required:
        async with contextlib.aclosing(_write(body, draft, generate)) as chunks:
            async for chunk in chunks:
                yield chunk
        if not draft.is_call:
            return
    calls, end = await _call(calls_only(body), generate)
    if required or not repeats(calls, body["messages"]):
        yield _chunk(
            {"role": "assistant", "tool_calls": [_as_delta(at, call) for at, call in enumerate(calls)]}
        )
        for chunk in end:
            yield chunk
        return
    if draft.told:
        yield _chunk({"content": "\n\n"})
    async with contextlib.aclosing(generate(in_words(body))) as chunks:
        async for chunk in chunks:
            yield chunk


async def _write(body: Body, draft: Draft, generate: Generate) -> AsyncGenerator[Chunk, None]:
    """Round 1: text, until it ends or the draft is a call."""
    async with contextlib.aclosing(generate({**body, "tool_choice": "none"})) as chunks:
        async for chunk in chunks:
            for choice in chunk["choices"]:
                if content := choice["delta"].get("content"):
                    choice["delta"]["content"] = draft.feed(content)
                if draft.is_call:
                    return
                if choice.get("finish_reason") and (rest := draft.rest()):
                    yield _chunk({"content": rest})
            yield chunk


async def _call(body: Body, generate: Generate) -> tuple[tuple[Call, ...], Sequence[Chunk]]:
    """Round 2: the calls, all held until the reply is complete, and the chunks that end it."""
    text, end = "", list[Chunk]()
    async with contextlib.aclosing(generate(body)) as chunks:
        async for chunk in chunks:
            for choice in chunk["choices"]:
                text += choice["delta"].get("content") or ""
                if choice.get("finish_reason"):
                    choice["finish_reason"] = "tool_calls" if whole_calls(text) else "length"
            if not chunk["choices"] or chunk["choices"][0].get("finish_reason"):
                end.append(chunk)
            if goes_round(text):
                return whole_calls(text), [_chunk({}, "tool_calls"), *_usage(body, chunk)]
    return whole_calls(text) or read_calls(text), end


def _usage(body: Body, chunk: Chunk) -> list[Chunk]:
    """What a round has cost that is stopped after `chunk`, as the chunk that would have told it, if asked."""
    timings = chunk.get("timings")
    options: dict[str, Any] = body.get("stream_options") or {}
    if timings is None or not options.get("include_usage"):
        return []
    cached, prompt = int(timings["cache_n"]), int(timings["cache_n"]) + int(timings["prompt_n"])
    usage = {
        "prompt_tokens": prompt,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens": int(timings["predicted_n"]),
    }
    return [{"object": "chat.completion.chunk", "choices": [], "usage": usage}]


def _as_delta(index: int, call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"index": index, "id": call.id, "type": "function", "function": function}


def _chunk(delta: Mapping[str, Any], finish_reason: str | None = None) -> Chunk:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"object": "chat.completion.chunk", "choices": [choice]}
