"""Reads a pipe in the event loop, in small steps, until its end or until it is told to stop."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

CHUNK = 65_536
STEPS = 4
"""Chunks that are read before others get their turn."""


class Pump:
    """Takes over the descriptor and closes it."""

    def __init__(self, descriptor: int, take: Callable[[bytes], None]) -> None:
        self._descriptor = descriptor
        self._take: Callable[[bytes], object] = take
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        if sys.platform == "win32":
            threading.Thread(target=self._read_in_thread, daemon=True).start()
        else:
            os.set_blocking(descriptor, False)
            self._loop.add_reader(descriptor, self._read)

    async def finish(self, seconds: float) -> None:
        """Waits for the end of the pipe, at most so long; what comes after is not read."""
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._ended.wait()
        finally:
            self._stop()

    def _stop(self) -> None:
        if sys.platform != "win32" and self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
        self._take = bytes

    def _read(self) -> None:
        for _ in range(STEPS):
            try:
                data = os.read(self._descriptor, CHUNK)
            except BlockingIOError:
                return
            if not data:
                self._loop.remove_reader(self._descriptor)
                self._ended.set()
                return
            self._take(data)

    def _read_in_thread(self) -> None:
        """Windows: a pipe cannot be waited for in the loop."""
        with suppress(RuntimeError):  # The loop was closed meanwhile.
            while data := os.read(self._descriptor, CHUNK):
                self._loop.call_soon_threadsafe(self._take_current, data)
            self._loop.call_soon_threadsafe(self._ended.set)
        os.close(self._descriptor)

    def _take_current(self, data: bytes) -> None:
        self._take(data)
