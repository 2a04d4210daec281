"""Work that must be done by a certain time, on any clock."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from agent_chat.core.ports import Clock

T = TypeVar("T")


class DeadlineExceeded(Exception):
    """The work was cancelled because its time was up."""


async def within(clock: Clock, seconds: float | None, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`; cancels it and raises `DeadlineExceeded` when it takes longer.

    The work is awaited to its end also when it is cancelled, so nothing of it goes on afterwards.
    """
    if seconds is None:
        return await work
    task = asyncio.ensure_future(work)
    alarm = asyncio.ensure_future(clock.sleep(max(0.0, seconds)))
    try:
        await asyncio.wait((task, alarm), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        task.cancel()
        await asyncio.wait((task,))
        if not task.cancelled() and task.exception() is None:
            return task.result()
        raise DeadlineExceeded
    finally:
        alarm.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait((task,))
