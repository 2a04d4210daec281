"""A model that replies, fails and falls silent as the log says."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from agent_chat.core.context_events import (
    CompactionFailed,
    CompactionStarted,
    ContextCompacted,
    ContextShortened,
    JobReplied,
)
from agent_chat.core.errors import POLICIES, FailureKind, ModelFailure
from agent_chat.core.events import (
    AttemptFailed,
    AttemptStarted,
    CostUnknown,
    Event,
    ModelReplied,
    ModelSwitched,
    ParameterDropped,
    ReplyDiscarded,
    ReplyInterrupted,
    RetryWaiting,
    ToolStarted,
)
from agent_chat.core.messages import ToolCall
from agent_chat.core.model import Query, ReasoningDelta, Reply, TextDelta
from agent_chat.core.ports import ChatModel, ModelItem
from agent_chat.engine.replay.script import TurnScript

INTERRUPTED = 0
"""What `compaction_failed` tells of tokens where the user stopped it."""


class ReplayModel:
    """A `ChatModel`; `real` goes on where the script ends in a real continuation.

    `is_small`: where it fails, another one is asked to do the same.
    """

    def __init__(
        self, script: TurnScript, name: str, real: ChatModel | None = None, *, is_small: bool = False
    ) -> None:
        self._script = script
        self._name = name
        self._real = real
        self._is_small = is_small

    @property
    def name(self) -> str:
        if self._script.live and self._real is not None:
            return self._real.name
        return self._name

    async def stream(self, query: Query) -> AsyncGenerator[ModelItem, None]:
        if self._script.live and self._real is not None:
            async with aclosing(self._real.stream(query)) as items:
                async for item in items:
                    yield item
            return
        failed: AttemptFailed | None = None
        switched = False
        while True:
            event = await self._script.until(_may_follow_a_query)
            match event:
                case AttemptFailed():
                    failed, switched = event, False
                    yield event
                case ModelSwitched():
                    switched = True
                    yield event
                case AttemptStarted(attempt=1) if self._is_small and failed is not None and not switched:
                    raise self._failure(failed, event)
                case AttemptStarted() | RetryWaiting() | ParameterDropped():
                    yield event
                case ReplyInterrupted(text=text):
                    if text:
                        yield TextDelta(text)
                    await self._script.never()
                case CompactionFailed(tokens=0):
                    await self._script.never()
                case ModelReplied():
                    if event.reasoning:
                        yield ReasoningDelta(event.reasoning)
                    if event.text:
                        yield TextDelta(event.text)
                    yield reply_of(event)
                    return
                case ReplyDiscarded() | JobReplied():
                    yield self._useless(event) if isinstance(event, ReplyDiscarded) else self._done(event)
                    return
                case _:
                    raise self._failure(failed, event)

    async def warm(self, query: Query) -> None:
        pass

    async def close(self) -> None:
        if self._real is not None:
            await self._real.close()

    def _useless(self, event: ReplyDiscarded) -> Reply:
        finish = "content_filter" if event.reason == "filtered" else "stop"
        return Reply("", (), finish, event.model, event.usage, event.cost_usd)

    def _done(self, event: JobReplied) -> Reply:
        """Calls of a reply that should have none are all that makes a text useless; the log has no others."""
        then = self._script.after_next
        refused = event.job == "compaction" and event.text.strip() and not isinstance(then, ContextCompacted)
        calls = (ToolCall("call", "call", "{}"),) if refused else ()
        return Reply(event.text, calls, "stop", event.model, event.usage, event.cost_usd)

    def _failure(self, failed: AttemptFailed | None, then: Event) -> ModelFailure:
        if failed is not None:
            return ModelFailure(failed.failure, failed.message, model=failed.model, status=failed.status)
        if isinstance(then, CompactionFailed):
            return ModelFailure("protocol", then.message, model=self._name)
        end = self._script.end
        if isinstance(then, ContextShortened) or end is None:
            return ModelFailure("context_overflow", "", model=self._name)
        kinds: list[FailureKind] = [kind for kind, policy in POLICIES.items() if policy.reason == end.reason]
        return ModelFailure(kinds[0] if kinds else "protocol", end.evidence, model=self._name)


def _may_follow_a_query(event: Event) -> bool:
    """Calls begin after a reply only: the loop does not do what the log says."""
    return not isinstance(event, ToolStarted)


def reply_of(event: ModelReplied) -> Reply:
    return Reply(
        text=event.text,
        calls=event.calls,
        finish_reason=event.finish_reason,
        model=event.model,
        usage=event.usage,
        cost_usd=event.cost_usd,
        extras=event.extras,
        reasoning=event.reasoning,
    )


def name_in(script: TurnScript, name: str) -> str:
    """What the user called the model in this turn; `name` where the turn does not tell."""
    told, for_job = "", False
    for entry in script.entries:
        match entry.event:
            case CostUnknown(model=model):
                return model
            case CompactionStarted():
                for_job = True
            case ContextCompacted() | CompactionFailed():
                for_job = False
            case AttemptStarted(model=model) if not for_job and not told:
                told = model
            case _:
                pass
    return told or name


def small_in(script: TurnScript, main: str) -> str | None:
    """The model that wrote a summary in place of the main one; None where there was none."""
    for entry in script.entries:
        if isinstance(entry.event, CompactionStarted) and entry.event.model != main:
            return entry.event.model
    return None


def window_in(script: TurnScript) -> int | None:
    """Tokens that the model took; None where the turn does not tell."""
    for entry in script.entries:
        if isinstance(entry.event, CompactionStarted) and entry.event.window is not None:
            return entry.event.window
    return None
