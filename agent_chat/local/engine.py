"""The embedded model: a GGUF file run by llama.cpp on this machine, in a process that belongs to this one."""

import asyncio
import atexit
import contextlib
import hashlib
import json
import secrets
import tempfile
import threading
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import platformdirs

from agent_chat.local.answer import answer
from agent_chat.local.errors import LocalModelError
from agent_chat.local.few_shot import Body, prepare, shared_prefix
from agent_chat.local.generation import Chunk, Generation
from agent_chat.local.gguf import read_header
from agent_chat.local.machine import available_memory, gib, usable_cores
from agent_chat.local.template import derive
from agent_chat.local.worker_process import LoadFailed, WorkerProcess

_DEFAULT_CONTEXT = 16_384
# A prompt is evaluated in batches, and a request can be stopped between two of them. Smaller stops sooner and
# evaluates slower: 32 costs about a tenth against the default of 2048, and stops within a second.
_BATCH = 32
_OVERHEAD = 256 * 1024 * 1024
_KEPT_STATES = 4


class LocalEngine:
    """One model in memory, shared by all who load the same file in this process.

    Requests run one at a time, in the order they come; the event loop is never blocked. It can be used from
    one event loop after another. What every request begins with (system message, tools, examples) is
    evaluated once and kept in a file, so that the next process need not do it again.
    """

    def __init__(self, path: Path, server: WorkerProcess, context: int, states: Path | None) -> None:
        self.path = path
        self.context = context
        """Size of the context, in tokens."""
        self._server = server
        self._states = states
        self._turn = threading.Lock()
        self._running: set[Generation] = set()
        self._warming: tuple[str, Generation] | None = None
        self._evaluated = ""
        self._users = 1

    @classmethod
    async def load(cls, path: Path, *, n_ctx: int | None = None, states: Path | None = None) -> "LocalEngine":
        """Load the GGUF file `path` with a context of `n_ctx` tokens, or take the engine that has it loaded.

        `states` is the folder for what has been evaluated (default: in the user's cache folder). Each `load`
        wants its own `close`. Raises LocalModelError: file missing or not GGUF, xllamacpp not installed, not
        enough memory, llama.cpp cannot run it.
        """
        starting = _Starting()
        loading = asyncio.ensure_future(asyncio.to_thread(cls._open, path, n_ctx, states, starting))
        try:
            return await asyncio.shield(loading)
        except asyncio.CancelledError:
            starting.give_up()
            loading.add_done_callback(_abandon)
            raise

    async def stream(self, body: Mapping[str, object]) -> AsyncGenerator[Chunk, None]:
        """Answer an OpenAI chat-completion request with its `chat.completion.chunk` dicts.

        Cancelled or closed, it stops at once and leaves the engine ready for the next request. Raises
        LocalModelError (ContextOverflow and RequestRefused tell why).
        """
        await self._evaluate(shared_prefix(body))
        async with contextlib.aclosing(answer(prepare(body), self._generate)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def warm(self, body: Mapping[str, object]) -> None:
        """Evaluate what every request with the system message and the tools of `body` begins with.

        A request that begins so waits for the rest of it; any other request ends it. Failures are left to the
        request that follows.
        """
        with contextlib.suppress(LocalModelError):
            await self._evaluate(shared_prefix(body))

    async def close(self) -> None:
        """Stop what runs and free the memory when the last user closes. Safe to call again."""
        await asyncio.to_thread(self._release)

    async def _evaluate(self, prefix: Body) -> None:
        key = self._key(prefix)
        if self._warming is not None and self._warming[0] != key:
            self._warming[1].stop()
        if key == self._evaluated:
            return
        state = self._states / key if self._states else None
        generation = Generation(self._server, {**prefix, "n_predict": 0}, self._turn, state)
        self._warming = (key, generation)
        async with contextlib.aclosing(self._chunks(generation)) as chunks:
            async for chunk in chunks:
                if chunk["choices"] and chunk["choices"][0].get("finish_reason"):
                    self._evaluated = key

    def _key(self, prefix: Body) -> str:
        """The same for the same file, context and beginning, in any process."""
        stat = self.path.stat()
        parts = [
            str(self.path),
            stat.st_size,
            stat.st_mtime,
            self.context,
            prefix["messages"],
            prefix.get("tools"),
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _generate(self, body: Body) -> AsyncGenerator[Chunk, None]:
        return self._chunks(Generation(self._server, body, self._turn))

    async def _chunks(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        self._running.add(generation)
        try:
            async with contextlib.aclosing(generation.chunks()) as chunks:
                async for chunk in chunks:
                    yield chunk
        finally:
            self._running.discard(generation)

    @classmethod
    def _open(
        cls, path: Path, n_ctx: int | None, states: Path | None, starting: "_Starting"
    ) -> "LocalEngine":
        path = path.resolve()
        with _loading:
            engine = _engines.get(path)
            if engine is None or not engine._server.alive:
                folder = _prepare_states(states or platformdirs.user_cache_path("agent-chat") / "states")
                server, context = _start(path, n_ctx, folder, starting)
                engine = _engines[path] = cls(path, server, context, folder)
            else:
                engine._users += 1
            return engine

    def _release(self) -> None:
        with _loading:
            self._users -= 1
            if self._users <= 0:
                if _engines.get(self.path) is self:
                    del _engines[self.path]
                self._shut_down()

    def _shut_down(self) -> None:
        for generation in tuple(self._running):
            generation.stop()
        self._server.close()


_loading = threading.Lock()
_engines: dict[Path, LocalEngine] = {}


@atexit.register
def _close_all() -> None:
    for engine in tuple(_engines.values()):
        engine._shut_down()  # pyright: ignore[reportPrivateUsage]


class _Starting:
    """A process that loads its model in one thread, and can be given up from another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: WorkerProcess | None = None
        self._given_up = False

    def run(self, settings: Mapping[str, object]) -> WorkerProcess:
        """The process, with the model loaded. Raises LocalModelError, LoadFailed."""
        process = WorkerProcess()
        with self._lock:
            self._process = process
            if self._given_up:
                process.kill()
        process.load(settings)
        with self._lock:
            self._process = None
        return process

    def give_up(self) -> None:
        """End the process unless it has loaded its model: others may use it then."""
        with self._lock:
            self._given_up = True
            if self._process is not None:
                self._process.kill()


def _start(
    path: Path, n_ctx: int | None, states: Path | None, starting: _Starting
) -> tuple[WorkerProcess, int]:
    """llama.cpp on `path`, and its context size. Blocks for seconds."""
    header = read_header(path)
    context = n_ctx or min(header.context_length or _DEFAULT_CONTEXT, _DEFAULT_CONTEXT)
    _check_memory(path)
    settings = {
        "path": str(path),
        "n_ctx": context,
        "n_batch": _BATCH,
        # With a thread on every core, any other busy process makes llama.cpp's barriers collapse.
        "n_threads": max(1, usable_cores() - 1),
        "chat_template": derive(header.chat_template or ""),
        "cache_mib": 512,
        "state_folder": f"{states}/" if states else "",
        "api_key": secrets.token_hex(16),
    }
    try:
        return starting.run(settings), context
    except LoadFailed as error:
        raise LocalModelError(
            f"llama.cpp cannot load {path.name} with a context of {context} tokens: {error}",
            "The file may be damaged, of a kind this version cannot run, or too large for the memory here.",
        ) from error


def _check_memory(path: Path) -> None:
    have, need = available_memory(), path.stat().st_size + _OVERHEAD
    if have is not None and have < need:
        raise LocalModelError(
            f"Not enough memory for {path.name}: {gib(have)} available, at least {gib(need)} needed.",
            "Close other programs, or use a smaller model such as local/qwen2.5-coder-0.5b.",
        )


def _prepare_states(folder: Path) -> Path | None:
    """The folder, with the newest states only; None when there can be none."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # system prompts are in there
        for old in sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime, reverse=True)[
            _KEPT_STATES:
        ]:
            old.unlink()
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None


def _abandon(loading: "asyncio.Future[LocalEngine]") -> None:
    """Nobody waits for this engine any more: close it once it is there."""
    if not loading.cancelled() and loading.exception() is None:
        threading.Thread(target=loading.result()._release).start()  # pyright: ignore[reportPrivateUsage]
