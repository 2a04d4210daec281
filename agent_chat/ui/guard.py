"""A failure of a face is its own: it never reaches the turn that it shows."""

from __future__ import annotations

from collections.abc import Callable

from agent_chat.core.events import Entry
from agent_chat.core.model import Delta
from agent_chat.core.ports import EventSink


class GuardedSink:
    """An `EventSink` around a face. The first failure is told to `report`; what the face shows may then be
    incomplete, what is kept is not."""

    def __init__(self, face: EventSink, report: Callable[[str], None]) -> None:
        self._face = face
        self._report: Callable[[str], None] | None = report

    async def emit(self, entry: Entry) -> None:
        try:
            await self._face.emit(entry)
        except Exception as error:  # whatever it is, it is not the turn's
            self._failed(error)

    def show(self, delta: Delta) -> None:
        try:
            self._face.show(delta)
        except Exception as error:  # whatever it is, it is not the turn's
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        report, self._report = self._report, None
        if report is not None:
            report(f"Showing what happens failed ({type(error).__name__}: {error}). The session goes on.")
