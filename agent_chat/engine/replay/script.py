"""What the log says of one turn, and how far the loop has come in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

from agent_chat.core.events import Entry, Event, IterationEnded, ModelReplied, TurnEnded


class TurnScript:
    """The entries of a turn, in order. Whoever stands in for the world waits here until it is its turn."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = tuple(entries)
        self.position = 0
        """How many entries the loop has made as the log has them."""
        self.live = False
        """Whether the loop goes on for real, beyond what the log says."""
        self.busy = 0
        """Tools that really run, so that waiting for them is not standing still."""
        self._closed = False
        self._waiting: list[asyncio.Future[None]] = []
        last = self.entries[-1].event if self.entries else None
        self.end = last if isinstance(last, TurnEnded) else None
        """None where the program died in the turn."""

    @property
    def next(self) -> Event | None:
        """What the loop is to do next; None at the end of the log."""
        return self.entries[self.position].event if self.position < len(self.entries) else None

    @property
    def after_next(self) -> Event | None:
        place = self.position + 1
        return self.entries[place].event if place < len(self.entries) else None

    @property
    def at(self) -> float:
        """When that happened, in seconds since the epoch."""
        return self.entries[min(self.position, len(self.entries) - 1)].at if self.entries else 0.0

    def ahead(self) -> Iterator[Event]:
        """What is left of the iteration."""
        for entry in self.entries[self.position :]:
            if isinstance(entry.event, IterationEnded):
                return
            yield entry.event

    def last_reply(self) -> ModelReplied | None:
        """The one whose calls are being run."""
        for entry in reversed(self.entries[: self.position]):
            if isinstance(entry.event, ModelReplied):
                return entry.event
        return None

    def advance(self) -> None:
        self.position += 1
        self._wake()

    def close(self) -> None:
        """Nothing more comes of the log."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def until(self, wanted: Callable[[Event], bool]) -> Event:
        """The next event, when it is a wanted one. Where it never is, this waits until it is cancelled."""
        while (event := self.next) is None or not wanted(event):
            await self._change()
        return event

    async def _change(self) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await future

    async def until_or_end(self, wanted: Callable[[Event], bool]) -> None:
        """As `until`, but no longer than anything comes of the log."""
        while not self._closed and (event := self.next) is not None and not wanted(event):
            await self._change()

    async def never(self) -> None:
        """Until cancelled: what waits here was interrupted."""
        await self.until(lambda _: False)
