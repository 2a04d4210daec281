"""The bridge between llama.cpp's thread and asyncio, with a server of ours behind llama.cpp's one method."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_chat.local.errors import ContextOverflow, LocalModelError, RequestRefused
from agent_chat.local.generation import Generation

Chunk = dict[str, Any]


def token(text: str) -> Chunk:
    return {"choices": [{"index": 0, "delta": {"content": text}}]}


class ScriptedServer:
    """Sends `chunks`, then goes on with `endless` until it is told to stop."""

    def __init__(self, *chunks: Chunk, endless: Chunk | None = None, error: Exception | None = None) -> None:
        self._chunks = chunks
        self._endless = endless
        self._error = error
        self.stopped = threading.Event()
        self.request: dict[str, Any] = {}

    def run(self, request: dict[str, Any], state: Path | None, on_chunk: Callable[[Chunk], bool]) -> None:
        self.request = request
        if self._error:
            raise self._error
        for chunk in self._chunks:
            if on_chunk(chunk):
                self.stopped.set()
                return
        while self._endless is not None:
            if on_chunk(self._endless):
                self.stopped.set()
                return


def generation(server: ScriptedServer, turn: "threading.Lock | None" = None) -> Generation:
    return Generation(server, {"messages": []}, turn or threading.Lock())


async def collect(server: ScriptedServer) -> list[Chunk]:
    return [chunk async for chunk in generation(server).chunks()]


async def test_chunks_come_in_order_without_the_progress_of_the_prompt() -> None:
    server = ScriptedServer({"prompt_progress": {"processed": 1}, "choices": []}, token("a"), token("b"))
    assert await collect(server) == [token("a"), token("b")]
    assert server.request == {"messages": [], "stream": True, "return_progress": True}


async def test_closing_stops_the_server() -> None:
    server = ScriptedServer(token("a"), endless=token("b"))
    chunks = generation(server).chunks()
    assert await anext(chunks) == token("a")
    await chunks.aclose()
    assert await asyncio.to_thread(server.stopped.wait, 5)


@pytest.mark.parametrize(
    "endless", [token("b"), {"prompt_progress": {}, "choices": []}], ids=["answer", "prompt"]
)
async def test_cancelling_stops_the_server(endless: Chunk) -> None:
    server = ScriptedServer(token("a"), endless=endless)
    begun = asyncio.Event()

    async def consume() -> None:
        async for _ in generation(server).chunks():
            begun.set()

    task = asyncio.create_task(consume())
    await asyncio.wait_for(begun.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(server.stopped.wait, 5)


async def test_a_request_stopped_while_it_waits_for_its_turn_never_starts() -> None:
    turn = threading.Lock()
    server = ScriptedServer(token("a"))
    waiting = generation(server, turn)
    with turn:
        task = asyncio.ensure_future(anext(waiting.chunks(), None))
        await asyncio.sleep(0)
        waiting.stop()
    assert await asyncio.wait_for(task, 5) is None
    assert server.request == {}


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (
            {"type": "exceed_context_size_error", "code": 400, "n_prompt_tokens": 9000, "n_ctx": 4096},
            ContextOverflow,
            "9000 tokens.*4096",
        ),
        ({"code": 400, "message": "bad field"}, RequestRefused, "bad field"),
        ({"code": 500, "message": "out of luck"}, LocalModelError, "out of luck"),
    ],
)
async def test_errors_of_the_server_have_kinds(
    error: Chunk, kind: type[LocalModelError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        await collect(ScriptedServer({"error": error}))


async def test_what_the_server_raises_is_a_refused_request() -> None:
    with pytest.raises(RequestRefused, match="Failed to parse tools"):
        await collect(ScriptedServer(error=RuntimeError("Failed to parse tools")))


def test_a_loop_that_is_gone_stops_the_server() -> None:
    server = ScriptedServer(token("a"), endless=token("b"))

    async def leave_open() -> object:
        chunks = generation(server).chunks()
        await anext(chunks)
        return chunks

    asyncio.run(leave_open())
    assert server.stopped.wait(5)
