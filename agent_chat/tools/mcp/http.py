"""The connection to a server behind an address: streamable HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING

from agent_chat.tools.mcp.config import Http
from agent_chat.tools.mcp.failures import reason_of

if TYPE_CHECKING:
    import httpx2
    from mcp.client._transport import TransportStreams

CONNECT_SECONDS = 10.0
ADVICE = {401: "check the headers of its entry", 403: "check the headers of its entry", 404: "check its url"}


class HttpTransport:
    """Satisfies `Transport`."""

    def __init__(self, config: Http) -> None:
        self._config = config
        self._lost = asyncio.Event()
        self._refused: int | None = None
        """The status of the last answer that was an error."""

    @property
    def lost(self) -> asyncio.Event:
        return self._lost

    @asynccontextmanager
    async def connect(self, loading: asyncio.Future[None]) -> AsyncGenerator[TransportStreams]:
        await asyncio.shield(loading)
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        client = httpx2.AsyncClient(
            headers=dict(self._config.headers),
            # A call may be silent for as long as it takes: calls have limits of their own.
            timeout=httpx2.Timeout(CONNECT_SECONDS, read=None),
            event_hooks={"response": [self._note_status]},
        )
        async with client, streamable_http_client(self._config.url, http_client=client) as streams:
            yield streams

    def explain(self, error: BaseException | None) -> str:
        if self._refused is not None:
            phrase = HTTPStatus(self._refused).phrase if self._refused in _KNOWN else ""
            advice = ADVICE.get(self._refused)
            return f"HTTP {self._refused} {phrase}".strip() + (f"; {advice}" if advice else "")
        return reason_of(error) if error is not None else "the connection ended"

    async def _note_status(self, response: httpx2.Response) -> None:
        # A server may refuse the stream of notifications (405) and still be a good one.
        if response.request.method == "POST":
            self._refused = response.status_code if response.status_code >= 400 else None


_KNOWN = frozenset(status.value for status in HTTPStatus)
