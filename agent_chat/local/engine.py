"""The embedded model: a GGUF file run in this process by llama.cpp."""

import asyncio
import atexit
import contextlib
import importlib
import secrets
import threading
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

from agent_chat.local.answer import answer
from agent_chat.local.errors import LocalModelError
from agent_chat.local.few_shot import Body, prepare
from agent_chat.local.generation import Chunk, Generation
from agent_chat.local.gguf import read_header
from agent_chat.local.machine import available_memory, gib, usable_cores
from agent_chat.local.template import derive

_DEFAULT_CONTEXT = 16_384
# A prompt is evaluated in batches, and a request can be stopped between two of them. Smaller stops sooner and
# evaluates slower: 32 costs about a tenth against the default of 2048, and stops within a second.
_BATCH = 32
_OVERHEAD = 256 * 1024 * 1024


class LocalEngine:
    """One model in memory, shared by all who load the same file in this process.

    Requests run one at a time, in the order they come, each in a thread; the event loop is never blocked.
    It can be used from one event loop after another.
    """

    def __init__(self, path: Path, server: Any, context: int) -> None:
        self.path = path
        self.context = context
        """Size of the context, in tokens."""
        self._server = server
        self._turn = threading.Lock()
        self._running: set[Generation] = set()
        self._warming: Generation | None = None
        self._users = 1

    @classmethod
    async def load(cls, path: Path, *, n_ctx: int | None = None) -> "LocalEngine":
        """Load the GGUF file `path` with a context of `n_ctx` tokens, or take the engine that has it loaded.

        Each `load` wants its own `close`. Raises LocalModelError: file missing or not GGUF, xllamacpp not
        installed, not enough memory, llama.cpp cannot run it.
        """
        loading = asyncio.ensure_future(asyncio.to_thread(cls._open, path, n_ctx))
        try:
            return await asyncio.shield(loading)
        except asyncio.CancelledError:
            loading.add_done_callback(_abandon)
            raise

    async def stream(self, body: Mapping[str, object]) -> AsyncGenerator[Chunk, None]:
        """Answer an OpenAI chat-completion request with its `chat.completion.chunk` dicts.

        Cancelled or closed, it stops at once and leaves the engine ready for the next request. Raises
        LocalModelError (ContextOverflow and RequestRefused tell why).
        """
        if self._warming is not None:
            self._warming.stop()
        async with contextlib.aclosing(answer(prepare(body), self._generate)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def warm(self, body: Mapping[str, object]) -> None:
        """Evaluate the part of `body` that every request shares (system message, tools, examples).

        Returns when it is done, or when a request came in between; what was evaluated by then is kept.
        Failures are left to the request that follows.
        """
        prepared = {**prepare(body), "n_predict": 0}
        with contextlib.suppress(LocalModelError):
            generation = self._warming = self._request(prepared)
            async with contextlib.aclosing(self._chunks(generation)) as chunks:
                async for _ in chunks:
                    pass

    async def close(self) -> None:
        """Stop what runs and free the memory when the last user closes. Safe to call again."""
        await asyncio.to_thread(self._release)

    def _request(self, body: Body) -> Generation:
        if self._server is None:
            raise LocalModelError("The embedded model has been closed.")
        return Generation(self._server, body, self._turn)

    def _generate(self, body: Body) -> AsyncGenerator[Chunk, None]:
        return self._chunks(self._request(body))

    async def _chunks(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        self._running.add(generation)
        try:
            async with contextlib.aclosing(generation.chunks()) as chunks:
                async for chunk in chunks:
                    yield chunk
        finally:
            self._running.discard(generation)

    @classmethod
    def _open(cls, path: Path, n_ctx: int | None) -> "LocalEngine":
        path = path.resolve()
        with _loading:
            engine = _engines.get(path)
            if engine is None:
                engine = _engines[path] = cls(path, *_start(path, n_ctx))
            else:
                engine._users += 1
            return engine

    def _release(self) -> None:
        with _loading:
            self._users -= 1
            if self._users <= 0:
                _engines.pop(self.path, None)
                self._shut_down()

    def _shut_down(self) -> None:
        for generation in tuple(self._running):
            generation.stop()
        with self._turn:
            self._server = None


_loading = threading.Lock()
_engines: dict[Path, LocalEngine] = {}


@atexit.register
def _close_all() -> None:
    """Free llama.cpp's threads while the interpreter can still wait for them."""
    for engine in tuple(_engines.values()):
        engine._shut_down()  # pyright: ignore[reportPrivateUsage]


def _start(path: Path, n_ctx: int | None) -> tuple[Any, int]:
    """llama.cpp's server on `path`, and its context size. Blocks for seconds."""
    header = read_header(path)
    context = n_ctx or min(header.context_length or _DEFAULT_CONTEXT, _DEFAULT_CONTEXT)
    _check_memory(path)
    llama: Any = _llama_cpp()
    params = llama.CommonParams()
    params.model.path = str(path)
    params.n_ctx = context
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = _BATCH
    # With a thread on every core, any other busy process makes llama.cpp's barriers collapse.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = max(1, usable_cores() - 1)
    params.sampling.temp = 0
    params.verbosity = 0
    params.hostnames, params.port, params.api_keys, params.ui = (
        ["127.0.0.1"],
        0,
        [secrets.token_hex(16)],
        False,
    )
    if header.chat_template:
        params.chat_template = derive(header.chat_template)
    try:
        return llama.Server(params), context
    except (RuntimeError, MemoryError) as error:
        raise LocalModelError(
            f"llama.cpp cannot load {path.name} with a context of {context} tokens: {error}",
            "The file may be damaged, of a kind this version cannot run, or too large for the memory here.",
        ) from error


def _llama_cpp() -> object:
    try:
        return importlib.import_module("xllamacpp")
    except ImportError as error:
        raise LocalModelError(
            "The embedded model needs xllamacpp, which is not installed.",
            "Install it with: pip install 'agent-chat[local]'",
        ) from error


def _check_memory(path: Path) -> None:
    have, need = available_memory(), path.stat().st_size + _OVERHEAD
    if have is not None and have < need:
        raise LocalModelError(
            f"Not enough memory for {path.name}: {gib(have)} available, at least {gib(need)} needed.",
            "Close other programs, or use a smaller model such as local/qwen2.5-coder-0.5b.",
        )


def _abandon(loading: "asyncio.Future[LocalEngine]") -> None:
    """Nobody waits for this engine any more: close it once it is there."""
    if not loading.cancelled() and loading.exception() is None:
        threading.Thread(target=loading.result()._release).start()  # pyright: ignore[reportPrivateUsage]
