"""Asks another model where one cannot answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from agent_chat.core.errors import ModelFailure
from agent_chat.core.events import ModelSwitched
from agent_chat.core.model import Query
from agent_chat.core.ports import ChatModel, Clock, ModelItem

COOLDOWN = 60.0
_ABOUT_THE_QUERY = frozenset(("content_filtered", "unsupported_parameter"))
"""Failures that say nothing about the next query."""


class Fallback:
    """A chat model made of several, in order of preference.

    A model that failed is left alone for `cooldown` seconds, or as long as it asked for; then the order
    counts again. `larger` are asked, in order, when the conversation does not fit the context window.
    """

    def __init__(
        self,
        models: Sequence[ChatModel],
        clock: Clock,
        *,
        cooldown: float = COOLDOWN,
        larger: Sequence[ChatModel] = (),
    ) -> None:
        self._models = tuple(models)
        self._larger = tuple(larger)
        self._clock = clock
        self._cooldown = cooldown
        self._cooling: dict[int, float] = {}
        """Until when a model is left alone, by its place."""
        self._overflowed = 0
        """A conversation of so many messages did not fit; 0 while none failed to."""
        self._last: ChatModel = self._models[0]

    @property
    def name(self) -> str:
        return self._models[0].name

    async def stream(self, query: Query) -> AsyncGenerator[ModelItem, None]:
        too_long = bool(self._overflowed) and len(query.messages) >= self._overflowed
        waiting = list(self._larger) if too_long and self._larger else self._in_order()
        reason = "the conversation is too long for it" if too_long else "its pause is over"
        while True:
            model = waiting.pop(0)
            if model is not self._last:
                yield ModelSwitched(from_model=self._last.name, to_model=model.name, message=reason)
                self._last = model
            try:
                async with aclosing(model.stream(query)) as items:
                    async for item in items:
                        yield item
                return
            except ModelFailure as failure:
                waiting = self._after(failure, model, waiting, query)
                if not waiting:
                    raise
                reason = failure.message

    def _in_order(self) -> list[ChatModel]:
        """Those that may be asked first; a model that is left alone is better than none."""
        now = self._clock.monotonic()
        places = range(len(self._models))
        ready = [place for place in places if self._cooling.get(place, 0.0) <= now]
        resting = [place for place in places if place not in ready]
        resting.sort(key=lambda place: self._cooling[place])
        return [self._models[place] for place in (*ready, *resting)]

    def _after(
        self, failure: ModelFailure, model: ChatModel, waiting: list[ChatModel], query: Query
    ) -> list[ChatModel]:
        """Who may still be asked after this failure."""
        if failure.kind == "context_overflow":
            if model in self._larger:
                return waiting
            self._overflowed = len(query.messages)
            return list(self._larger)
        if not failure.policy.fall_back:
            return []
        if model in self._models and failure.kind not in _ABOUT_THE_QUERY:
            rest = max(self._cooldown, failure.retry_after or 0.0)
            self._cooling[self._models.index(model)] = self._clock.monotonic() + rest
        return waiting

    async def warm(self, query: Query) -> None:
        await self._models[0].warm(query)

    async def close(self) -> None:
        for model in {id(model): model for model in (*self._models, *self._larger)}.values():
            await model.close()
