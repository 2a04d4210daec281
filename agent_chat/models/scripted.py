"""A model that says what it was told to say, and complains about anything unplanned."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence

from agent_chat.core.errors import ModelFailure
from agent_chat.core.messages import ToolCall
from agent_chat.core.model import Query, Reply, TextDelta
from agent_chat.core.ports import ModelItem

Step = Reply | ModelFailure | Sequence[ModelItem] | Callable[[Query], "Reply | ModelFailure"]
"""One scripted answer: a reply, a failure, the very items to yield, or a function of the query."""


class ScriptExhausted(AssertionError):
    """More was asked than the script holds."""


def text(content: str) -> Reply:
    return Reply(content)


def calls(*wanted: ToolCall, content: str = "") -> Reply:
    return Reply(content, wanted, "tool_calls")


class ScriptedModel:
    """Answers the n-th query with the n-th step. `queries` holds what was asked.

    `check()` raises AssertionError where steps are left over. `repeat_last` makes the last step
    answer everything that follows.
    """

    def __init__(self, *steps: Step, name: str = "scripted", repeat_last: bool = False) -> None:
        self._steps = steps
        self._name = name
        self._repeat_last = repeat_last
        self.queries: list[Query] = []

    @property
    def name(self) -> str:
        return self._name

    async def stream(self, query: Query) -> AsyncGenerator[ModelItem, None]:
        step = self._take(query)
        if callable(step):
            step = step(query)
        match step:
            case ModelFailure():
                raise step
            case Reply():
                if step.text:
                    yield TextDelta(step.text)
                yield step
            case _:
                for item in step:
                    yield item

    def _take(self, query: Query) -> Step:
        index = len(self.queries)
        self.queries.append(query)
        if index < len(self._steps):
            return self._steps[index]
        if self._repeat_last and self._steps:
            return self._steps[-1]
        raise ScriptExhausted(f"query {index + 1} of a script of {len(self._steps)}")

    def drop(self, parameter: str) -> bool:
        return False

    async def warm(self, query: Query) -> None:
        pass

    async def close(self) -> None:
        pass

    def check(self) -> None:
        left = len(self._steps) - len(self.queries)
        assert left <= 0, f"{left} scripted steps were never asked for"
