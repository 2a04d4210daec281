"""The engine on the smallest real model, through llama.cpp. The weights are fetched once and kept."""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from local.tiny_gguf import gguf

from agent_chat.local.catalog import CATALOG
from agent_chat.local.download import fetch
from agent_chat.local.engine import LocalEngine
from agent_chat.local.errors import ContextOverflow, LocalModelError, RequestRefused

CONTEXT = 4096
NOW: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "now",
        "description": "The time in a time zone.",
        "parameters": {
            "type": "object",
            "properties": {"timezone": {"type": "string", "enum": ["Asia/Tokyo", "Europe/Paris"]}},
            "required": ["timezone"],
        },
    },
}


def ask(text: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], "max_tokens": 24, **more}


async def text_of(engine: LocalEngine, body: dict[str, Any]) -> tuple[str, int]:
    """The text of the answer and the number of chunks that brought it."""
    pieces = [
        choice["delta"]["content"]
        async for chunk in engine.stream(body)
        for choice in chunk["choices"]
        if choice["delta"].get("content")
    ]
    return "".join(pieces), len(pieces)


@pytest.fixture
async def model() -> Path:
    return await fetch(CATALOG["smollm2-135m"])


@pytest.fixture
async def engine(model: Path, tmp_path: Path) -> AsyncGenerator[LocalEngine, None]:
    engine = await LocalEngine.load(model, n_ctx=CONTEXT, states=tmp_path)
    yield engine
    await engine.close()


@pytest.mark.local_model
async def test_a_real_turn_streams_calls_a_tool_and_can_be_stopped(
    engine: LocalEngine, capfd: pytest.CaptureFixture[str]
) -> None:
    text, pieces = await text_of(engine, ask("Count from 1 to 5."))
    assert pieces > 3
    assert (text, pieces) == await text_of(engine, ask("Count from 1 to 5."))

    chunks = [
        c
        async for c in engine.stream(
            ask("Time in Tokyo?", tools=[NOW], tool_choice="required", max_tokens=100)
        )
    ]
    call = chunks[0]["choices"][0]["delta"]["tool_calls"][0]
    assert call["function"]["name"] == "now"
    assert json.loads(call["function"]["arguments"])["timezone"] in ("Asia/Tokyo", "Europe/Paris")
    assert call["id"]
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"

    endless = engine.stream(ask("Tell a long story.", max_tokens=3000))
    await anext(endless)
    await anext(endless)
    began = time.perf_counter()
    await endless.aclose()
    assert time.perf_counter() - began < 0.1
    assert (await text_of(engine, ask("Count from 1 to 5.")))[0] == text
    assert capfd.readouterr() == ("", "")


@pytest.mark.local_model
async def test_the_event_loop_stays_free_while_loading_and_answering(model: Path) -> None:
    lags: list[float] = []

    async def beat() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.005)
            lags.append(time.perf_counter() - before)

    heart = asyncio.create_task(beat())
    engine = await LocalEngine.load(model, n_ctx=CONTEXT)
    await text_of(engine, ask("Say hello."))
    await engine.close()
    heart.cancel()
    assert len(lags) > 20
    assert max(lags) < 0.5


@pytest.mark.local_model
async def test_a_request_stops_the_warming_and_finds_what_it_left(engine: LocalEngine) -> None:
    system = {"role": "system", "content": "You are brief. " * 60}
    warming = asyncio.create_task(engine.warm({"messages": [system]}))
    await asyncio.sleep(0)
    body = ask("Hi!", max_tokens=1)
    body["messages"].insert(0, system)
    assert [chunk async for chunk in engine.stream(body)]
    await asyncio.wait_for(warming, 30)
    again = [chunk async for chunk in engine.stream(body)]
    assert again[-1]["timings"]["cache_n"] > 200


@pytest.mark.local_model
async def test_requests_at_once_take_turns(engine: LocalEngine) -> None:
    alone = await text_of(engine, ask("Say hello."))
    both = await asyncio.gather(text_of(engine, ask("Say hello.")), text_of(engine, ask("Say hello.")))
    assert both == [alone, alone]


@pytest.mark.local_model
async def test_one_file_is_loaded_once_and_closed_by_the_last(model: Path) -> None:
    first = await LocalEngine.load(model, n_ctx=CONTEXT)
    second = await LocalEngine.load(model, n_ctx=CONTEXT)
    assert first is second
    await first.close()
    assert (await text_of(second, ask("Say hello.")))[0]
    await second.close()
    with pytest.raises(LocalModelError, match=r"ended|does not answer"):
        await text_of(second, ask("Say hello."))


@pytest.mark.local_model
async def test_a_prompt_that_does_not_fit_says_so(engine: LocalEngine) -> None:
    with pytest.raises(ContextOverflow) as caught:
        await text_of(engine, ask("word " * 2 * CONTEXT))
    assert caught.value.context == CONTEXT
    assert caught.value.prompt_tokens > CONTEXT


@pytest.mark.local_model
async def test_a_request_that_makes_no_sense_is_refused(engine: LocalEngine) -> None:
    with pytest.raises(RequestRefused):
        await text_of(engine, ask("hi", max_tokens="many"))


@pytest.mark.local_model
@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("", 0),
        ("raise KeyboardInterrupt", 130),
        ("sys.exit(3)", 3),
    ],
    ids=["end", "interrupted", "exit"],
)
async def test_a_process_ends_while_the_model_still_writes(model: Path, end: str, code: int) -> None:
    program = f"""
import asyncio, sys
from pathlib import Path
from agent_chat.local.engine import LocalEngine

async def main():
    engine = await LocalEngine.load(Path({str(model)!r}), n_ctx={CONTEXT})
    global chunks
    chunks = engine.stream({ask("Tell a long story.", max_tokens=3000)!r})
    await anext(chunks)
    {end or "pass"}

asyncio.run(main())
"""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ)
    )
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert out == b""
    assert (err == b"") == (code != 130)
    assert process.returncode in (code, -2 if code == 130 else code)


async def test_a_file_that_llama_cpp_cannot_load_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tiny.gguf"
    file.write_bytes(gguf())
    with pytest.raises(LocalModelError, match=r"llama.cpp cannot load tiny.gguf"):
        await LocalEngine.load(file)
    assert capfd.readouterr() == ("", "")


async def test_a_model_larger_than_the_memory_is_not_tried(tmp_path: Path) -> None:
    file = tmp_path / "huge.gguf"
    with file.open("wb") as handle:
        handle.write(gguf())
        handle.truncate(2**43)
    with pytest.raises(LocalModelError, match=r"Not enough memory for huge.gguf: .* needed"):
        await LocalEngine.load(file)


async def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(LocalModelError, match="does not exist"):
        await LocalEngine.load(tmp_path / "none.gguf")


@pytest.mark.local_model
async def test_the_next_process_need_not_evaluate_the_beginning_again(model: Path, tmp_path: Path) -> None:
    body = ask("?", max_tokens=1, stream_options={"include_usage": True})
    body["messages"].insert(0, {"role": "system", "content": "You are brief. " * 60})

    async def kept_by_a_new_process() -> tuple[str, int]:
        engine = await LocalEngine.load(model, n_ctx=CONTEXT, states=tmp_path)
        await engine.warm(body)
        last = [chunk async for chunk in engine.stream(body)][-1]
        await engine.close()
        assert last["timings"]["cache_n"] > 200
        return _only_file(tmp_path)

    first = await kept_by_a_new_process()
    with (tmp_path / first[0]).open("rb"):  # so that no other file gets its number
        assert await kept_by_a_new_process() == first
        os.truncate(tmp_path / first[0], 1000)  # as by a full disk; llama.cpp would abort on it
        again = await kept_by_a_new_process()
        assert again != first
    assert (tmp_path / again[0]).stat().st_size > 1000


def _only_file(folder: Path) -> tuple[str, int]:
    """Its name, and which file it is: another one when it was written again."""
    (file,) = folder.iterdir()
    return file.name, file.stat().st_ino


@pytest.mark.local_model
async def test_a_model_that_dies_says_so_and_can_be_loaded_again(model: Path, tmp_path: Path) -> None:
    engine = await LocalEngine.load(model, n_ctx=CONTEXT, states=tmp_path)
    chunks = engine.stream(ask("Tell a long story.", max_tokens=3000))
    await anext(chunks)
    os.kill(_worker_of(os.getpid()), 9)
    with pytest.raises(LocalModelError, match="was killed by signal 9") as caught:
        async for _ in chunks:
            pass
    assert "memory" in caught.value.hint
    again = await LocalEngine.load(model, n_ctx=CONTEXT, states=tmp_path)
    assert again is not engine
    assert (await text_of(again, ask("Say hello.")))[0]
    await engine.close()
    await again.close()


@pytest.mark.local_model
async def test_a_load_that_is_given_up_ends_at_once(model: Path, tmp_path: Path) -> None:
    loading = asyncio.create_task(LocalEngine.load(model, n_ctx=CONTEXT, states=tmp_path))
    await asyncio.to_thread(_stop_the_worker)  # so that it never ends by itself
    loading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await loading
    again = await asyncio.wait_for(LocalEngine.load(model, n_ctx=CONTEXT, states=tmp_path), 60)
    assert (await text_of(again, ask("Say hello.")))[0]
    await again.close()
    assert not _workers_of(os.getpid())


def _worker_of(parent: int) -> int:
    """The process that runs the model for the process `parent`."""
    (worker,) = _workers_of(parent)
    return worker


def _stop_the_worker() -> None:
    """Wait until the process that runs the model is there, and stop it."""
    deadline = time.monotonic() + 30
    while not (workers := _workers_of(os.getpid())):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    os.kill(workers[0], signal.SIGSTOP)


def _workers_of(parent: int) -> list[int]:
    return [
        int(child)
        for children in Path(f"/proc/{parent}/task").glob("*/children")
        for child in children.read_text().split()
        if b"worker.py" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


@pytest.mark.local_model
async def test_the_model_ends_with_a_process_that_is_killed(model: Path, tmp_path: Path) -> None:
    program = f"""
import asyncio
from pathlib import Path
from agent_chat.local.engine import LocalEngine

async def main():
    engine = await LocalEngine.load(Path({str(model)!r}), n_ctx={CONTEXT}, states=Path({str(tmp_path)!r}))
    async for _ in engine.stream({ask("Tell a long story.", max_tokens=3000)!r}):
        print("running", flush=True)

asyncio.run(main())
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert await asyncio.wait_for(process.stdout.readline(), 60) == b"running\n"
    handle = os.pidfd_open(_worker_of(process.pid))
    process.kill()
    await process.wait()
    ended, _, _ = await asyncio.to_thread(select.select, [handle], [], [], 10)
    os.close(handle)
    assert ended
