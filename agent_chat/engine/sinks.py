"""Several sinks as one."""

from __future__ import annotations

from collections.abc import Callable

from agent_chat.core.events import Entry
from agent_chat.core.model import Delta
from agent_chat.core.ports import EventSink


class InOrder:
    """Tells the log first, then the others in their order: what is on the screen is on the disk.

    A sink that breaks its promise and raises is told of once and left out from then on; it never fails
    a turn.
    """

    def __init__(self, log: EventSink, *others: EventSink, on_problem: Callable[[str], None]) -> None:
        self._log = log
        self._others = list(others)
        self._on_problem = on_problem

    async def emit(self, entry: Entry) -> None:
        await self._log.emit(entry)
        for sink in tuple(self._others):
            try:
                await sink.emit(entry)
            except Exception as error:
                self._leave_out(sink, error)

    def show(self, delta: Delta) -> None:
        for sink in tuple(self._others):
            try:
                sink.show(delta)
            except Exception as error:
                self._leave_out(sink, error)

    def _leave_out(self, sink: EventSink, error: Exception) -> None:
        self._others.remove(sink)
        self._on_problem(f"{type(sink).__name__} failed and shows nothing more: {error!r}")
