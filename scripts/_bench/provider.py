"""A scripted provider without latency of its own: prebuilt bytes, in a process of its own.

    python provider.py                  prints its port, serves until its standard input ends

The path says what is answered: `/answer/v1/chat/completions` a short text, `/tools-50/…` a tool call until
the history holds 50 results, `/eight/…` eight calls at once, `/chunks-20000/…` that many pieces of text,
`/counted-300/…` a text of 300 words and how many tokens were sent, `/status-500/…` an error, `/held/…` an
answer that stops after its first piece until it is released.
`/control/counts` tells how often each path was asked; `/control/held` answers as soon as an answer is held,
and `/control/release` lets it go on.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from functools import cache
from typing import Any

_BLOCK = 64 * 1024
_END = b"0\r\n\r\n"
_STREAM = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
    b"Cache-Control: no-cache\r\n\r\n"
)


class Provider:
    """What all connections share."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.holding = asyncio.Event()
        self.released = asyncio.Event()

    async def answer(self, path: str, body: bytes, transport: asyncio.Transport) -> None:
        name = path.strip("/").partition("/")[0]
        if name == "control":
            return await self._control(path.rpartition("/")[2], transport)
        self.counts[path] += 1
        kind, _, number = name.partition("-")
        match kind:
            case "answer":
                transport.write(_whole(_text(1)))
            case "counted":
                transport.write(_whole(_counted(int(number), len(body) // 4)))
            case "chunks":
                transport.write(_whole(_text(int(number))))
            case "tools":
                done = body.count(b'"tool_call_id"')
                transport.write(_whole(_calls(done, 1) if done < int(number) else _text(1)))
            case "eight":
                answered = body.rfind(b'"tool_call_id"') > body.rfind(b'"user"')
                transport.write(_whole(_text(1) if answered else _calls(0, 8)))
            case "held":
                await self._hold(transport)
            case "status":
                error = {"error": {"message": "scripted", "type": "scripted_error"}}
                transport.write(_plain(f"{number} Scripted", error))
            case _:
                transport.write(_plain("404 Not Found", {"error": {"message": f"no script for {path}"}}))
        return None

    async def _hold(self, transport: asyncio.Transport) -> None:
        first, *rest = _text(1)
        transport.write(_STREAM + _framed(first))
        self.holding.set()
        await self.released.wait()
        transport.write(b"".join(map(_framed, rest)) + _END)

    async def _control(self, what: str, transport: asyncio.Transport) -> None:
        match what:
            case "held":
                await self.holding.wait()
                self.holding.clear()
                self.released.clear()
            case "release":
                self.released.set()
            case _:
                pass
        transport.write(_plain("200 OK", dict(self.counts)))


class Connection(asyncio.Protocol):
    """One kept-alive connection; requests are answered one after the other."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._buffer = bytearray()
        self._needed = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) < self._needed:
            return
        head, mark, rest = self._buffer.partition(b"\r\n\r\n")
        if not mark:
            return
        lines = head.decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(":", 1) for line in lines[1:])
        length = int(headers.get("content-length", "0"))
        if len(rest) < length:
            self._needed = len(head) + 4 + length
            return
        self._needed = 0
        self._buffer = rest[length:]
        path = lines[0].split(" ")[1]
        task = asyncio.ensure_future(self._provider.answer(path, bytes(rest[:length]), self._transport))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _event({"choices": [choice]})


def _event(fields: dict[str, Any]) -> bytes:
    head = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1764547200,
        "model": "gpt-4.1-mini",
    }
    return b"data: " + json.dumps({**head, **fields}, separators=(",", ":")).encode() + b"\n\n"


def _tail(finish: str) -> list[bytes]:
    usage = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
    return [_chunk({}, finish), _event({"choices": [], "usage": usage}), b"data: [DONE]\n\n"]


@cache
def _text(pieces: int) -> list[bytes]:
    words = [_chunk({"content": f"word{number % 10} "}) for number in range(10)]
    body = [words[number % 10] for number in range(pieces)]
    return [_chunk({"role": "assistant", "content": ""}), *body, *_tail("stop")]


def _counted(words: int, prompt: int) -> list[bytes]:
    """A text, with the request's tokens as a provider would count them."""
    usage = {"prompt_tokens": prompt, "completion_tokens": words, "total_tokens": prompt + words}
    return [
        _chunk({"role": "assistant", "content": "word " * words}),
        _chunk({}, "stop"),
        _event({"choices": [], "usage": usage}),
        b"data: [DONE]\n\n",
    ]


def _calls(first: int, count: int) -> list[bytes]:
    """`count` calls of the tool `step`, whose arguments come in three pieces."""
    events = [_chunk({"role": "assistant", "content": None})]
    for index in range(count):
        number = first + index + 1
        function = {"name": "step", "arguments": ""}
        call = {"index": index, "id": f"call_{number}", "type": "function", "function": function}
        events.append(_chunk({"tool_calls": [call]}))
        pieces = ({"arguments": piece} for piece in ('{"n"', ": ", f"{number}}}"))
        events += [_chunk({"tool_calls": [{"index": index, "function": piece}]}) for piece in pieces]
    return [*events, *_tail("tool_calls")]


def _whole(events: list[bytes]) -> bytes:
    if len(events) < 1000:
        return _STREAM + _framed(b"".join(events)) + _END
    return _long(len(events))


@cache
def _long(count: int) -> bytes:
    data = b"".join(_text(count - 4))
    blocks = (data[start : start + _BLOCK] for start in range(0, len(data), _BLOCK))
    return _STREAM + b"".join(map(_framed, blocks)) + _END


def _framed(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _plain(status: str, value: Any) -> bytes:
    body = json.dumps(value).encode()
    return (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
    )


async def serve() -> None:
    loop = asyncio.get_running_loop()
    provider = Provider()
    server = await loop.create_server(lambda: Connection(provider), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201
    async with server:
        await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve())
