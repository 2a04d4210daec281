"""Endpoints that speak OpenAI's chat completions, over plain HTTP.

One request a query, always streaming, nothing tried again here. The request is closed as soon as the
consumer is cancelled or closes the generator.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Any
from urllib.request import getproxies

from agent_chat import __version__
from agent_chat.core.model import ModelDelta, Query, Reply
from agent_chat.core.ports import ModelItem
from agent_chat.models.assembly import Assembly, ErrorInStream
from agent_chat.models.attempt import UNDROPPABLE, Target
from agent_chat.models.failures import Failures
from agent_chat.models.http import EventSource, ServerSentEvent, httpx
from agent_chat.models.loose import mapping
from agent_chat.models.pricing import Pricing
from agent_chat.models.wire import BodyEncoder, IdsInBody

PATH = "/chat/completions"
DONE = "[DONE]"
AFTER_FINISH = 2.0
"""Seconds without data after a finish reason: usage and the end mark may follow, or never come."""
AFTER_DONE = 0.25
"""Seconds for the answer to end cleanly after the end mark, so that the connection can be used again."""
KEEP_ALIVE = 60.0
"""Seconds that an idle connection is kept."""


def completions_url(base: str) -> str:
    """Where requests go: the base address with the path, unless it has it already."""
    base = base.strip().rstrip("/")
    return base if base.endswith(PATH) else base + PATH


class DirectModel:
    """Satisfies `AttemptModel`."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._url = completions_url(target.base)
        self._failures = Failures.of(target, self._url)
        self._encoder = BodyEncoder(target.model, target.sent_as, target.limit_parameter)
        self._pricing = Pricing(target.model, target.prices)
        self._dropped: frozenset[str] = frozenset()
        self._client: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def name(self) -> str:
        return self._target.name

    async def stream(self, query: Query) -> AsyncGenerator[ModelItem, None]:
        body = self._encoder.body(query, self._target.parameters, self._dropped)
        assembly = Assembly()
        self._pricing.prefetch()
        try:
            async with self._open().stream("POST", self._url, content=body) as response:
                await self._check(response)
                if "json" in response.headers.get("content-type", ""):
                    late, ended = await self._whole(response, assembly), True
                else:
                    ended = False
                    async with aclosing(EventSource(response).aiter_sse()) as events:
                        async for event in events:
                            if (data := event.data) == DONE:
                                ended = True
                                break
                            for delta in self._feed(assembly, event, data):
                                yield delta
                            if assembly.finished:
                                break
                        late = await self._rest(events, assembly, ended=ended)
            for delta in late:
                yield delta
        except ErrorInStream as error:
            raise self._failures.from_error(error.error) from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError) as error:
            raise self._failures.from_httpx(error) from error
        if not (ended or assembly.finished):
            raise self._failures.broken()
        yield self._reply(body, assembly)

    async def _check(self, response: httpx.Response) -> None:
        """Raises unless the answer is a stream, or a whole completion as JSON."""
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code != 200:
            body = await response.aread()
            raise self._failures.from_response(response.status_code, response.headers, body)
        if kind == "text/html":
            raise self._failures.make("not_found", "the address answers with a web page", status=200)
        if kind != "text/event-stream" and "json" not in kind:
            # Some servers stream without saying so.
            response.headers["content-type"] = "text/event-stream"

    async def _whole(self, response: httpx.Response, assembly: Assembly) -> tuple[ModelDelta, ...]:
        """An answer that is not streamed, although that was asked for."""
        body = self._parse((await response.aread()).decode("utf-8", "replace"))
        deltas = assembly.feed(body)
        if not mapping(body).get("choices"):
            raise self._failures.garbled("JSON without choices")
        return deltas

    def _parse(self, data: str) -> Any:
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise self._failures.garbled(f"not JSON: {data[:80]!r}") from None

    def _feed(self, assembly: Assembly, event: ServerSentEvent, data: str) -> tuple[ModelDelta, ...]:
        if not data:
            return ()
        chunk = self._parse(data)
        if event.event == "error":
            raise ErrorInStream(mapping(chunk).get("error") or chunk)
        return assembly.feed(chunk)

    async def _rest(
        self, events: AsyncGenerator[ServerSentEvent, None], assembly: Assembly, *, ended: bool
    ) -> list[ModelDelta]:
        """Reads on, for a bounded time, after the reply has said that it is complete."""
        late: list[ModelDelta] = []
        clock = asyncio.get_running_loop().time
        # Whatever happens now, the reply is complete without it.
        with suppress(TimeoutError, httpx.HTTPError):
            async with asyncio.timeout(AFTER_DONE if ended else AFTER_FINISH) as limit:
                async for event in events:
                    ended = ended or event.data == DONE
                    if not ended:
                        late.extend(self._feed(assembly, event, event.data))
                    limit.reschedule(clock() + (AFTER_DONE if ended else AFTER_FINISH))
        return late

    def _reply(self, body: bytes, assembly: Assembly) -> Reply:
        reply = assembly.reply(self._target.model, IdsInBody(body))
        cost = self._pricing.cost(reply.usage, assembly.raw_usage)
        return reply if cost is None else replace(reply, cost_usd=cost)

    def _open(self) -> httpx.AsyncClient:
        """The client of the running event loop; connections of another loop are of no use."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            target = self._target
            headers = {
                "User-Agent": f"agent-chat/{__version__}",
                "Accept": "text/event-stream",
                "Content-Type": "application/json",
            }
            if target.key:
                headers["Authorization"] = f"Bearer {target.key}"
            self._client = httpx.AsyncClient(
                headers={**headers, **target.headers},
                timeout=httpx.Timeout(target.idle_limit, connect=target.connect_limit),
                limits=httpx.Limits(keepalive_expiry=KEEP_ALIVE),
                verify=_verification(self._url),
            )
            self._loop = loop
        return self._client

    def drop(self, parameter: str) -> bool:
        sent = {"stream_options", "tool_choice", self._target.limit_parameter, *self._target.parameters}
        if parameter in UNDROPPABLE or parameter in self._dropped or parameter not in sent:
            return False
        self._dropped |= {parameter}
        return True

    async def warm(self, query: Query) -> None:
        """Encodes the prefix ahead of the first query."""
        self._encoder.body(query, self._target.parameters, self._dropped)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.aclose()


def _verification(url: str) -> ssl.SSLContext | bool:
    """Reading the certificate authorities takes longer than a request; without TLS nobody asks for them.

    The context for plain addresses trusts nobody, so it can never weaken a connection.
    """
    plain = url.startswith("http://") and not getproxies()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True
