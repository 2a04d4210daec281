"""How a server is reached: what every kind of connection gives to the one who speaks over it."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams


class Transport(Protocol):
    """One connection; used once."""

    @property
    def lost(self) -> asyncio.Event:
        """Set when the other side has gone."""
        ...

    def connect(self, loading: asyncio.Future[None]) -> AbstractAsyncContextManager[TransportStreams]:
        """Streams of messages. Entering raises ServerFailed; leaving frees everything, within 3 s.

        `loading` is done when the SDK has been imported; what needs it must wait for that.
        """
        ...

    def explain(self, error: BaseException | None) -> str:
        """Why it ended, in one line, when it has."""
        ...
