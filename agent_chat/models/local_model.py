"""The embedded model as a chat model: fetched when it is missing, loaded when it is first needed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_chat.core.errors import FailureKind, ModelFailure, UserError
from agent_chat.core.events import AttemptStarted
from agent_chat.core.model import Query
from agent_chat.core.ports import ModelItem
from agent_chat.local.catalog import CatalogEntry, resolve
from agent_chat.local.download import fetch
from agent_chat.local.errors import ContextOverflow, LocalModelError, RequestRefused
from agent_chat.models.assembly import Assembly
from agent_chat.models.wire import call_ids, message_dict, tool_dict

if TYPE_CHECKING:
    from agent_chat.local.engine import LocalEngine

Fetch = Callable[[CatalogEntry], Awaitable[Path]]


class LocalModel:
    """`name` is `local/NAME` or `local:FILE.gguf`. Raises UserError where that means nothing."""

    def __init__(self, name: str, fetch: Fetch = fetch) -> None:
        self._name = name
        try:
            self._source = resolve(name)
        except LocalModelError as error:
            raise UserError(error.message, hint=error.hint) from error
        self._fetch = fetch
        self._engine: LocalEngine | None = None
        self._opening = asyncio.Lock()

    @property
    def name(self) -> str:
        return self._name

    async def stream(self, query: Query) -> AsyncGenerator[ModelItem, None]:
        yield AttemptStarted(model=self._name, attempt=1)
        engine = await self._open()
        assembly = Assembly()
        try:
            async with aclosing(engine.stream(_body(query))) as chunks:
                async for chunk in chunks:
                    for delta in assembly.feed(chunk):
                        yield delta
        except LocalModelError as error:
            raise self._failure("request", error) from error
        # Nobody is paid for it.
        yield replace(assembly.reply(self._name, call_ids(query)), cost_usd=0.0)

    async def warm(self, query: Query) -> None:
        try:
            engine = await self._open()
        except ModelFailure:
            return  # the query that follows meets it again, and tells
        await engine.warm(_body(query))

    async def close(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.close()

    async def _open(self) -> LocalEngine:
        from agent_chat.local.engine import LocalEngine

        async with self._opening:
            if self._engine is None:
                try:
                    path = self._source if isinstance(self._source, Path) else await self._fetch(self._source)
                except LocalModelError as error:
                    raise self._failure("unavailable", error) from error
                context = None if isinstance(self._source, Path) else self._source.context
                try:
                    self._engine = await LocalEngine.load(path, n_ctx=context)
                except LocalModelError as error:
                    raise self._failure("request", error) from error
            return self._engine

    def _failure(self, kind: FailureKind, error: LocalModelError) -> ModelFailure:
        match error:
            case ContextOverflow():
                kind = "context_overflow"
            case RequestRefused():
                kind = "request"
            case _:
                pass
        return ModelFailure(kind, f"{self._name}: {error}", model=self._name)


def _body(query: Query) -> dict[str, Any]:
    body: dict[str, Any] = {
        "messages": [message_dict(message, "") for message in query.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if query.tools:
        body |= {"tools": [tool_dict(tool) for tool in query.tools], "tool_choice": query.tool_choice}
    if query.max_output_tokens is not None:
        body["max_tokens"] = query.max_output_tokens
    return body
