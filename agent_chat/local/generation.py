"""One request to llama.cpp: its thread, and the bridge from there to asyncio."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from agent_chat.local.errors import ContextOverflow, LocalModelError, RequestRefused

Chunk = dict[str, Any]
"""One OpenAI `chat.completion.chunk`, as a dict."""


class ChatServer(Protocol):
    """Where requests are run, one at a time."""

    def run(self, request: dict[str, Any], state: Path | None, on_chunk: Callable[[Chunk], bool]) -> object:
        """Block until the answer is complete, or `on_chunk` gave True and the server has stopped.

        What the model has evaluated then is kept in the file `state`, or taken from there when it exists.
        Raises RuntimeError when the request is refused, LocalModelError when the server is gone.
        """
        ...


class Generation:
    """One request. It waits for `turn` (llama.cpp has one slot), then runs in a thread of its own.

    The thread ends by itself at the next chunk, once the consumer or the main thread is gone.
    """

    def __init__(
        self,
        server: ChatServer,
        body: Mapping[str, object],
        turn: threading.Lock,
        state: Path | None = None,
    ) -> None:
        self._server = server
        # The progress of the prompt comes as chunks too, and each chunk is a chance to stop.
        self._body: dict[str, Any] = {**body, "stream": True, "return_progress": True}
        self._turn = turn
        self._state = state
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Stop at the next chunk (a token, or a small batch of the prompt). Does not block."""
        self._stopped.set()

    async def chunks(self) -> AsyncGenerator[Chunk, None]:
        """The chunks as they come. Closed or cancelled, it stops at once; raises LocalModelError."""
        queue: asyncio.Queue[Chunk | LocalModelError | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def hand_over(item: Chunk | LocalModelError | None) -> None:
            try:
                loop.call_soon_threadsafe(queue.put_nowait, item)
            except RuntimeError:  # the loop is closed: nobody listens any more
                self.stop()

        threading.Thread(target=self._run, args=(hand_over,), name="llama.cpp request").start()
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
                    self._server.run(self._body, self._state, on_chunk)
        except LocalModelError as error:
            hand_over(error)
        except RuntimeError as error:
            hand_over(_failure({"code": 400, "message": str(error)}))
        finally:
            hand_over(None)


def _failure(error: Mapping[str, Any]) -> LocalModelError:
    message = str(error.get("message", "no reason given"))
    if error.get("type") == "exceed_context_size_error":
        return ContextOverflow(int(error.get("n_prompt_tokens") or 0), int(error.get("n_ctx") or 0))
    if error.get("code") == 400:
        return RequestRefused(f"The embedded model refused the request: {message}")
    return LocalModelError(f"The embedded model failed: {message}")
