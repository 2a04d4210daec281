"""Our end of the process that runs llama.cpp: a chat server with one blocking method."""

import contextlib
import importlib.util
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agent_chat.local.errors import LocalModelError

_PATIENCE = 2
"""Seconds that the process gets to end by itself."""


class LoadFailed(Exception):
    """llama.cpp did not take the model; the text says why."""


class WorkerProcess:
    """Starts the process; the model is loaded by `load`. Raises LocalModelError."""

    def __init__(self) -> None:
        if importlib.util.find_spec("xllamacpp") is None:
            raise LocalModelError(
                "The embedded model needs xllamacpp, which is not installed.",
                "Install it with: pip install 'agent-chat[local]'",
            )
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._writing = threading.Lock()

    def load(self, settings: Mapping[str, object]) -> None:
        """Load the model; blocks till it is ready. When that fails, the process has ended. Raises
        LocalModelError, LoadFailed."""
        try:
            self._send(settings)
            reply = self._receive()
        except BaseException:
            self.close()
            raise
        if "failed" in reply:
            self.close()
            raise LoadFailed(reply["failed"])

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def run(
        self, request: dict[str, Any], state: Path | None, on_chunk: Callable[[dict[str, Any]], bool]
    ) -> None:
        """See `generation.ChatServer`."""
        self._send({"request": request, "state": state and str(state)})
        stopped, refused = False, None
        while True:
            message = self._receive()
            if "end" in message:
                break
            if "raised" in message:
                refused = str(message["raised"])
            elif not stopped and on_chunk(message):
                stopped = True
                self._send({"stop": True})
        if refused is not None:
            raise RuntimeError(refused)

    def kill(self) -> None:
        """End the process at once, whatever it does. Does not block; `close` is still owed."""
        self._process.kill()

    def close(self) -> None:
        """End the process and free its memory. Safe to call again; waits two seconds at most."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        # Last: a thread that still reads holds the pipe until the process has ended.
        self._process.stdout.close()

    def _send(self, message: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        try:
            with self._writing:
                self._process.stdin.write(json.dumps(message).encode() + b"\n")
                self._process.stdin.flush()
        except (OSError, ValueError) as error:
            raise self._death() from error

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        try:
            line = self._process.stdout.readline()
        except ValueError as error:
            raise self._death() from error
        if not line:
            raise self._death()
        return json.loads(line)

    def _death(self) -> LocalModelError:
        try:
            code = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return LocalModelError("The embedded model does not answer any more.")
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        return LocalModelError(
            f"The process of the embedded model {how}.",
            "Most often the memory was not enough: close other programs, or use a smaller model "
            "such as local/qwen2.5-coder-0.5b.",
        )
