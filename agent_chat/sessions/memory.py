"""A session that leaves nothing behind: for the library, and where nothing can be written."""

from __future__ import annotations

from agent_chat.core.events import Entry
from agent_chat.core.model import Delta


class MemoryLog:
    """An `EventSink` that keeps the entries in a list."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.entries: list[Entry] = []

    async def emit(self, entry: Entry) -> None:
        self.entries.append(entry)

    def show(self, delta: Delta) -> None:
        pass

    def close(self) -> None:
        pass
