"""Threads for functions that block: as many as are needed at once, kept for the next call."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

IDLE_SECONDS = 30.0
"""How long a thread without work waits for the next call."""

Job = Callable[[], None]


async def in_thread(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """The result of a blocking function, which runs in a thread of ours with the caller's context variables.

    Raises what the function raises. A thread cannot be stopped from outside: when the caller is cancelled,
    the function runs to its end and its result is dropped. Such a thread takes no other call's place and
    does not keep the program from ending.
    """
    loop = asyncio.get_running_loop()
    arrived: asyncio.Future[_Outcome[R]] = loop.create_future()
    context = copy_context()

    def settle(outcome: _Outcome[R]) -> None:
        if not arrived.done():
            arrived.set_result(outcome)

    def job() -> None:
        outcome: _Outcome[R]
        try:
            outcome = _Returned(context.run(function, *args, **kwargs))
        except BaseException as error:
            outcome = _Raised(error)
        with suppress(RuntimeError):  # The loop was closed meanwhile: nobody waits any more.
            loop.call_soon_threadsafe(settle, outcome)

    _pool().submit(job)
    match await arrived:
        case _Returned(value):
            return value
        case _Raised(error):
            raise error


@dataclass(frozen=True, slots=True)
class _Returned(Generic[R]):
    value: R


@dataclass(frozen=True, slots=True)
class _Raised:
    error: BaseException


_Outcome = _Returned[R] | _Raised


class DaemonPool:
    """Runs jobs at once, each in a thread of its own; a thread that is done takes a later job.

    Unlike the standard library's executors it has no upper bound behind which jobs would queue (one stuck
    job could starve the others; who starts jobs bounds how many there are), and the program ends without
    waiting for its threads.
    """

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._idle = 0
        """Threads that wait and have not been promised to a job yet."""

    def submit(self, job: Job) -> None:
        """Starts a job, which must not raise."""
        with self._lock:
            if self._idle:
                self._idle -= 1
                self._jobs.put(job)
                return
        threading.Thread(target=self._work, args=(job,), name="agent-chat-tool", daemon=True).start()

    @property
    def idle(self) -> int:
        """Threads that wait for a job."""
        return self._idle

    def _work(self, job: Job) -> None:
        current: list[Job] = [job]
        del job
        while current:
            # Popped, so that what a job refers to does not live until the next one comes.
            current.pop()()
            current.extend(self._next())

    def _next(self) -> tuple[Job, ...]:
        """The next job; none when the thread has waited long enough."""
        with self._lock:
            self._idle += 1
        try:
            return (self._jobs.get(timeout=self._idle_seconds),)
        except queue.Empty:
            with self._lock:
                try:
                    return (self._jobs.get_nowait(),)
                except queue.Empty:
                    self._idle -= 1
                    return ()


@cache
def _pool() -> DaemonPool:
    if hasattr(os, "register_at_fork"):
        # A forked child has the count of idle threads, but not the threads.
        os.register_at_fork(after_in_child=_pool.cache_clear)
    return DaemonPool()
