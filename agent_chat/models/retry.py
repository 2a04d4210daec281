"""Asks a model again where asking again may help: the only place in the program that retries."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass

from agent_chat.core.errors import ModelFailure
from agent_chat.core.events import AttemptFailed, AttemptStarted, ParameterDropped, RetryWaiting
from agent_chat.core.model import Query
from agent_chat.core.ports import Clock, ModelItem
from agent_chat.models.attempt import AttemptModel


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    retries: int = 2
    """n retries are at most n + 1 requests."""
    first_wait: float = 0.5
    """Seconds before the first retry; doubled before each further one."""
    longest_backoff: float = 30.0
    """Seconds; where the doubling ends."""
    longest_asked: float = 60.0
    """Seconds; a provider that asks for more is treated as if the retries were used up."""


class Retry:
    """A chat model that tries another one again, as `core.errors.POLICIES` says, and tells of every step.

    `jitter` gives a number from 0 to 1.
    """

    def __init__(
        self,
        model: AttemptModel,
        policy: RetryPolicy,
        clock: Clock,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._model = model
        self._policy = policy
        self._clock = clock
        self._jitter = jitter

    @property
    def name(self) -> str:
        return self._model.name

    async def stream(self, query: Query) -> AsyncGenerator[ModelItem, None]:
        attempt = retries = 0
        while True:
            attempt += 1
            streamed = False
            yield AttemptStarted(model=self.name, attempt=attempt)
            try:
                async with aclosing(self._model.stream(query)) as items:
                    async for item in items:
                        streamed = True
                        yield item
                return
            except ModelFailure as error:
                failure = error
            yield self._failed(failure, attempt, streamed=streamed)
            if (parameter := failure.parameter) and self._model.drop(parameter):
                yield ParameterDropped(
                    model=self.name,
                    parameter=parameter,
                    message=f"{self.name} does not take {parameter}; asking without it.",
                )
                continue
            wait = self._wait(failure, retries)
            if wait is None:
                raise failure
            retries += 1
            yield RetryWaiting(model=self.name, seconds=wait, message=failure.message)
            await self._clock.sleep(wait)

    def _failed(self, failure: ModelFailure, attempt: int, *, streamed: bool) -> AttemptFailed:
        return AttemptFailed(
            model=self.name,
            attempt=attempt,
            failure=failure.kind,
            message=failure.message,
            status=failure.status,
            discarded=streamed,
        )

    def _wait(self, failure: ModelFailure, retries: int) -> float | None:
        """Seconds before the next attempt; None where there is none."""
        policy = self._policy
        if not failure.policy.retry or retries >= policy.retries:
            return None
        asked = failure.retry_after or 0.0
        if asked > policy.longest_asked:
            return None
        jitter = self._jitter()
        backoff = min(policy.longest_backoff, policy.first_wait * 2**retries) * (1 + jitter / 2)
        return max(backoff, asked * (1 + jitter / 10))

    async def warm(self, query: Query) -> None:
        await self._model.warm(query)

    async def close(self) -> None:
        await self._model.close()
