"""Every provider that LiteLLM has, as single attempts with our own assembly.

LiteLLM translates; it does not retry, does not put the reply together and does not print.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from agent_chat.core.errors import ModelFailure
from agent_chat.core.messages import AssistantMessage
from agent_chat.core.model import ModelDelta, Query
from agent_chat.core.ports import ModelItem
from agent_chat.models.assembly import Assembly, ErrorInStream
from agent_chat.models.attempt import UNDROPPABLE, Target
from agent_chat.models.failures import Failures
from agent_chat.models.litellm_chunks import plain_chunk
from agent_chat.models.litellm_loader import close_connections, litellm, rehearse, start_loading
from agent_chat.models.pricing import Pricing
from agent_chat.models.wire import call_ids, message_dict, tool_dict

AFTER_FINISH = 2.0
"""Seconds without data after a finish reason: usage may follow, or never come."""
_BREAKPOINT = {"type": "ephemeral"}
_END = object()


def _last_end(query: Query) -> int:
    """Where the request before this one ended: what it left in the cache is looked for there. Providers look
    back from the newest breakpoint a few messages only, and one iteration may add more than that."""
    replies = (
        place
        for place in range(len(query.messages) - 1, 0, -1)
        if isinstance(query.messages[place], AssistantMessage)
    )
    return next(replies, 1) - 1


class LiteLLMModel:
    """Satisfies `AttemptModel`."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._failures = Failures.of(target, target.base)
        self._pricing = Pricing(target.model, target.prices)
        self._dropped: set[str] = set()
        # Where the provider caches only what it is told to.
        self._marks_cache = bool(re.search(r"(^|[/.])(anthropic|claude)", target.model))

    @property
    def name(self) -> str:
        return self._target.name

    async def stream(self, query: Query) -> AsyncGenerator[ModelItem, None]:
        assembly = Assembly()
        chunks: Any = None
        late: list[ModelDelta] = []
        self._pricing.prefetch()
        try:
            # Loading takes its time, which is not the provider's.
            module = await litellm()
            asking = module.acompletion(**self._request(query))
            chunks = await self._within(asking, self._target.idle_limit)
            iterator: AsyncIterator[Any] = aiter(chunks)
            while (chunk := await self._next(iterator, assembly)) is not _END:
                deltas = assembly.feed(plain_chunk(chunk))
                if assembly.finished:
                    # Held back, for what comes now must not wait for the consumer.
                    late.extend(deltas)
                    continue
                for delta in deltas:
                    yield delta
        except ModelFailure:
            raise
        except ErrorInStream as error:
            raise self._failures.from_error(error.error) from None
        except Exception as error:
            raise self._failures.from_exception(error) from error
        finally:
            if chunks is not None:
                with suppress(Exception):
                    await chunks.aclose()
        for delta in late:
            yield delta
        if not assembly.finished:
            raise self._failures.broken()
        reply = assembly.reply(self._target.model, call_ids(query))
        yield replace(reply, cost_usd=self._pricing.cost(reply.usage, assembly.raw_usage))

    async def _next(self, chunks: AsyncIterator[Any], assembly: Assembly) -> Any:
        if not assembly.finished:
            return await self._within(anext(chunks, _END), self._target.idle_limit)
        # The reply is complete, whatever happens now.
        try:
            async with asyncio.timeout(AFTER_FINISH):
                return await anext(chunks, _END)
        except Exception:
            return _END

    async def _within(self, awaitable: Any, seconds: float) -> Any:
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await awaitable
        except TimeoutError:
            if limit.expired():
                raise self._failures.silent() from None
            raise

    def _request(self, query: Query) -> dict[str, Any]:
        target = self._target
        fields: dict[str, Any] = {
            "model": target.model,
            "messages": self._messages(query),
            "stream_options": {"include_usage": True},
            **target.parameters,
        }
        if query.tools:
            fields["tools"] = [tool_dict(spec) for spec in query.tools]
            if query.tool_choice != "auto":
                fields["tool_choice"] = query.tool_choice
        if query.max_output_tokens is not None:
            fields[target.limit_parameter] = query.max_output_tokens
        if target.base:
            fields["api_base"] = target.base
            # Clients that LiteLLM uses insist on a key, whether the server wants one or not.
            fields["api_key"] = target.key or "none"
        elif target.key:
            fields["api_key"] = target.key
        if target.headers:
            fields["extra_headers"] = dict(target.headers)
        for name in self._dropped:
            fields.pop(name, None)
        # Ours ends first; theirs is there for what they do outside our sight.
        fields["timeout"] = target.idle_limit + 5
        return {**fields, "stream": True, "num_retries": 0, "max_retries": 0}

    def _messages(self, query: Query) -> list[dict[str, Any]]:
        # LiteLLM may change what it is given, so it gets dicts of its own every time.
        messages = [message_dict(message, self._target.model) for message in query.messages]
        if self._marks_cache and messages:
            for place in {0, len(messages) - 1, _last_end(query)}:
                messages[place]["cache_control"] = _BREAKPOINT
        return messages

    def drop(self, parameter: str) -> bool:
        sent = {"stream_options", "tool_choice", self._target.limit_parameter, *self._target.parameters}
        if parameter in UNDROPPABLE or parameter in self._dropped or parameter not in sent:
            return False
        self._dropped.add(parameter)
        return True

    async def warm(self, query: Query) -> None:
        """Loads LiteLLM and goes through a call of its own, both in a thread behind the prompt."""
        loading = start_loading()
        with suppress(Exception):
            module = await asyncio.shield(asyncio.wrap_future(loading))
            await asyncio.to_thread(rehearse, module, self._target.model)

    async def close(self) -> None:
        await close_connections()
