"""One request to llama.cpp: its thread, and the bridge from there to asyncio."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, Protocol

from agent_chat.local.errors import ContextOverflow, LocalModelError, MismatchedOutput, RequestRefused

Chunk = dict[str, Any]
"""One OpenAI `chat.completion.chunk`, as a dict."""


class ChatServer(Protocol):
    """What is used of llama.cpp's server."""

    def handle_chat_completions(
        self, request: dict[str, Any], callback: Callable[[Chunk], bool], /
    ) -> object:
        """Block until the answer is complete or the callback gave True. Raises on a refused request."""
        ...


class Generation:
    """One request. It waits for `turn` (llama.cpp has one slot), then runs in a thread of its own.

    The thread is not a daemon: a daemon that comes back from C++ into an interpreter that is shutting down
    crashes it. It ends by itself instead, at the next chunk, once the consumer or the main thread is gone.
    """

    def __init__(self, server: ChatServer, body: Mapping[str, object], turn: threading.Lock) -> None:
        self._server = server
        # The progress of the prompt comes as chunks too, and each chunk is a chance to stop.
        self._body: dict[str, Any] = {**body, "stream": True, "return_progress": True}
        self._turn = turn
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def stop(self) -> None:
        """Stop at the next chunk (a token, or a small batch of the prompt). Does not block."""
        self._stopped.set()

    def join(self) -> None:
        """Block until the thread has ended."""
        if self._thread is not None:
            self._thread.join()

    async def chunks(self) -> AsyncGenerator[Chunk, None]:
        """The chunks as they come. Closed or cancelled, it stops at once; raises LocalModelError."""
        queue: asyncio.Queue[Chunk | LocalModelError | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def hand_over(item: Chunk | LocalModelError | None) -> None:
            try:
                loop.call_soon_threadsafe(queue.put_nowait, item)
            except RuntimeError:  # the loop is closed: nobody listens any more
                self.stop()

        self._thread = threading.Thread(target=self._run, args=(hand_over,), name="llama.cpp request")
        self._thread.start()
        try:
            while (item := await queue.get()) is not None:
                if isinstance(item, LocalModelError):
                    raise item
                yield item
        finally:
            self.stop()

    def _run(self, hand_over: Callable[[Chunk | LocalModelError | None], None]) -> None:
        def on_chunk(chunk: Chunk) -> bool:
            if self._stopped.is_set() or not threading.main_thread().is_alive():
                return True
            if "error" in chunk:
                hand_over(_failure(chunk["error"]))
            elif "prompt_progress" not in chunk:
                hand_over(chunk)
            return False

        try:
            with self._turn:
                if not self._stopped.is_set():
                    self._server.handle_chat_completions(self._body, on_chunk)
        except (RuntimeError, ValueError, TypeError) as error:
            hand_over(_failure({"code": 400, "message": str(error)}))
        finally:
            hand_over(None)


def _failure(error: Mapping[str, Any]) -> LocalModelError:
    message = str(error.get("message", "no reason given"))
    if error.get("type") == "exceed_context_size_error":
        return ContextOverflow(int(error.get("n_prompt_tokens") or 0), int(error.get("n_ctx") or 0))
    if "does not match the expected" in message:
        return MismatchedOutput("The embedded model wrote a tool call that cannot be read.")
    if error.get("code") == 400:
        return RequestRefused(f"The embedded model refused the request: {message}")
    return LocalModelError(f"The embedded model failed: {message}")
