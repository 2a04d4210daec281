"""Fetch a file from the hub: plain HTTP, taken up where it was cut."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from agent_chat.local.catalog import HubSource
from agent_chat.local.part_file import CHUNK, PartFile
from agent_chat.local.source_error import SourceError

if TYPE_CHECKING:
    import httpx

_TRIES = 3
"""Connections in a row that bring nothing before the source is given up."""


async def fetch_from_hub(source: HubSource, part: PartFile, size: int, report: Callable[[], None]) -> None:
    """Bring `part` to `size` bytes; `report` is called after each piece. Raises SourceError, OSError."""
    import httpx

    await part.resume()
    if part.size > size:
        await part.resume(0)
    fruitless = 0
    async with httpx.AsyncClient(follow_redirects=True, timeout=httpx.Timeout(30, connect=10)) as client:
        while part.size < size:
            before = part.size
            try:
                await _continue(client, source.url, part, size, report)
                reason = "the connection was closed early"
            except httpx.TransportError as error:
                reason = str(error) or type(error).__name__
            fruitless = fruitless + 1 if part.size == before else 0
            if fruitless >= _TRIES or (fruitless and before == 0):
                raise SourceError(reason)


async def _continue(
    client: "httpx.AsyncClient", url: str, part: PartFile, size: int, report: Callable[[], None]
) -> None:
    headers = {"Range": f"bytes={part.size}-"} if part.size else {}
    async with client.stream("GET", url, headers={**headers, "Accept-Encoding": "identity"}) as response:
        if response.status_code == 200 and part.size:  # the server does not do ranges: from the start
            await part.resume(0)
        elif response.status_code not in (200, 206):
            raise SourceError(f"it answered {response.status_code} {response.reason_phrase}")
        announced = response.headers.get("Content-Length")
        if announced is not None and part.size + int(announced) != size:
            raise SourceError(f"it offers another file: {part.size + int(announced)} bytes instead of {size}")
        async for data in response.aiter_bytes(CHUNK):
            if part.size + len(data) > size:
                raise SourceError("it sends more than the file should have")
            part.write(data)
            report()
