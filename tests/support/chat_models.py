"""Helpers for tests of chat models: a clock that jumps, a way to run a query, models for real HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar

from agent_chat.core.errors import ModelFailure
from agent_chat.core.messages import Message, SystemMessage, UserMessage
from agent_chat.core.model import Query, Reply, TextDelta, ToolSpec
from agent_chat.core.ports import ChatModel, ModelItem
from agent_chat.models.attempt import Target
from agent_chat.models.direct_model import DirectModel
from agent_chat.models.retry import Retry, RetryPolicy

ItemT = TypeVar("ItemT")
ModelT = TypeVar("ModelT", bound=ChatModel)

PARAMETERS = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
ECHO = ToolSpec("echo", "Says it again.", PARAMETERS)
KEY = "sk-TEST456"


class JumpingClock:
    """Sleeping takes no time and moves the clock on; `sleeps` are the seconds asked for."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.sleeps: list[float] = []

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.seconds += seconds


@dataclass(frozen=True, slots=True)
class Ran:
    """What a query came to."""

    items: Sequence[ModelItem]
    failure: ModelFailure | None

    @property
    def reply(self) -> Reply:
        assert self.failure is None, f"the query failed: {self.failure}"
        last = self.items[-1]
        assert isinstance(last, Reply)
        assert not any(isinstance(item, Reply) for item in self.items[:-1])
        return last

    @property
    def error(self) -> ModelFailure:
        assert self.failure is not None, f"the query did not fail: {self.items}"
        return self.failure

    def of(self, kind: type[ItemT]) -> list[ItemT]:
        return [item for item in self.items if isinstance(item, kind)]

    @property
    def text(self) -> str:
        """All text that was streamed, of discarded attempts too."""
        return "".join(item.text for item in self.of(TextDelta))


def query(
    *messages: Message, tools: tuple[ToolSpec, ...] = (ECHO,), max_output_tokens: int | None = None
) -> Query:
    given = messages or (SystemMessage("You help."), UserMessage("hi"))
    return Query(given, tools, max_output_tokens=max_output_tokens)


async def run(model: ChatModel, asked: Query | None = None) -> Ran:
    """Asks to the end; a failure is a result."""
    items: list[ModelItem] = []
    try:
        async with aclosing(model.stream(asked or query())) as stream:
            async for item in stream:
                # One by one: a failure must not lose what came before it.
                items.append(item)  # noqa: PERF401
    except ModelFailure as failure:
        return Ran(items, failure)
    return Ran(items, None)


def target(base: str, **changes: Any) -> Target:
    fields: dict[str, Any] = {
        "name": "main",
        "model": "openai/m",
        "sent_as": "m",
        "base": base,
        "key": KEY,
        "key_source": "OPENAI_API_KEY",
        "idle_limit": 10.0,
    }
    return Target(**{**fields, **changes})


_opened: list[ChatModel] = []


def direct(base: str, **changes: Any) -> DirectModel:
    """Closed by `close_all`."""
    return opened(DirectModel(target(base, **changes)))


def opened(model: ModelT) -> ModelT:
    """Notes a model for `close_all`."""
    _opened.append(model)
    return model


async def close_all() -> None:
    while _opened:
        await _opened.pop().close()


def retrying(model: Any, clock: JumpingClock | None = None, *, retries: int = 2) -> Retry:
    """Without jitter."""
    return Retry(model, RetryPolicy(retries), clock or JumpingClock(), jitter=lambda: 0.0)
