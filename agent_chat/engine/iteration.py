"""The inner loop's body: one model call, and the tool calls that it asked for.

`iterate` is project → query → reply → decide → act → observe. Everything that a reply can be is a case
of `decide`; everything that an iteration can come to is a `Step`.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass

from agent_chat.core.decision import Empty, Filtered, Final, Intents, Truncated, decide
from agent_chat.core.errors import ModelFailure
from agent_chat.core.events import (
    AttemptFailed,
    DiscardReason,
    IterationEnded,
    IterationStarted,
    ModelReplied,
    Purpose,
    ReplyDiscarded,
    ReplyInterrupted,
)
from agent_chat.core.messages import UserMessage
from agent_chat.core.model import CallDelta, Query, ReasoningDelta, Reply, TextDelta
from agent_chat.core.outcome import StopReason
from agent_chat.core.text import storable
from agent_chat.engine.compaction import make_room, shorten
from agent_chat.engine.runtime import Runtime
from agent_chat.engine.tool_calls import Observed, run_intents

CONTINUE = "Your answer was cut off by the output limit. Continue exactly where it stopped; repeat nothing."
MAX_EMPTY = 2
"""Replies in a row with neither text nor calls before the turn stops."""
MAX_SHORTENINGS = 3


@dataclass(frozen=True, slots=True)
class Answered:
    text: str


@dataclass(frozen=True, slots=True)
class CutOff:
    """An answer that hit the output limit; the next iteration may continue it."""

    text: str


@dataclass(frozen=True, slots=True)
class Acted:
    text: str
    observed: tuple[Observed, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    reason: StopReason
    evidence: str


Step = Answered | CutOff | Acted | Failed


async def iterate(runtime: Runtime, *, continues: bool = False) -> Step:
    """Runs one iteration. `continues`: the last answer was cut off and is to be continued."""
    journal, started = runtime.journal, runtime.clock.monotonic()
    await journal.record(IterationStarted())
    try:
        await make_room(runtime)
        return await _step(runtime, CONTINUE if continues else None)
    except ModelFailure as failure:
        return Failed(failure.policy.reason, failure.message)
    finally:
        await journal.record(IterationEnded(duration_s=runtime.clock.monotonic() - started))


async def _step(runtime: Runtime, request: str | None) -> Step:
    for _ in range(MAX_EMPTY):
        reply, seconds = await _think(runtime, request)
        match decide(reply):
            case Final(text):
                await _keep(runtime, reply, seconds)
                return Answered(text)
            case Truncated(text):
                await _keep(runtime, reply, seconds)
                return CutOff(text)
            case Intents():
                await _keep(runtime, reply, seconds)
                return Acted(reply.text, tuple(await run_intents(runtime, reply)))
            case Filtered():
                await discard(runtime, reply, "filtered")
                return Failed("content_filtered", f"The content filter of {reply.model} withheld the answer.")
            case Empty():
                await discard(runtime, reply, "empty")
    return Failed("empty_reply", f"{runtime.model.name} returned nothing: neither text nor a tool call.")


async def _think(runtime: Runtime, request: str | None) -> tuple[Reply, float]:
    """Asks the model; when the context window overflows, with fewer messages. Returns also the seconds."""
    shortenings = 0
    while True:
        try:
            return await ask(runtime, request)
        except ModelFailure as failure:
            if failure.kind != "context_overflow" or shortenings == MAX_SHORTENINGS:
                raise
            if not await shorten(runtime):
                raise
            shortenings += 1


async def ask(
    runtime: Runtime,
    request: str | None,
    *,
    with_tools: bool = True,
    max_output_tokens: int | None = None,
) -> tuple[Reply, float]:
    """One model call over the session's messages, followed by `request` where the runtime has one.

    Shows deltas and journals notices as they come. Without tools the tools are still described, which
    keeps the request's prefix the same, but none may be called.
    """
    journal, started = runtime.journal, runtime.clock.monotonic()
    messages = journal.messages()
    if request is not None:
        messages = (*messages, UserMessage(request))
    tool_choice = "auto" if with_tools else "none"
    query = Query(messages, runtime.toolbox.specs(), tool_choice, max_output_tokens)
    shown: list[str] = []
    reply: Reply | None = None
    try:
        async with aclosing(runtime.model.stream(query)) as stream:
            async for item in stream:
                match item:
                    case TextDelta():
                        shown.append(item.text)
                        journal.show(item)
                    case ReasoningDelta() | CallDelta():
                        journal.show(item)
                    case Reply():
                        reply = item
                    case AttemptFailed():
                        shown.clear()
                        await journal.record(item)
                    case _:
                        await journal.record(item)
    except asyncio.CancelledError:
        await journal.record(ReplyInterrupted(text=storable("".join(shown))))
        raise
    if reply is None:
        raise ModelFailure("protocol", f"{runtime.model.name}: the reply never ended.")
    if missed := runtime.prefix.judge(query, reply):
        await journal.record(missed)
    return reply, runtime.clock.monotonic() - started


async def _keep(runtime: Runtime, reply: Reply, seconds: float) -> None:
    await runtime.journal.record(replied(reply, seconds, "answer"))


def replied(reply: Reply, seconds: float, purpose: Purpose) -> ModelReplied:
    return ModelReplied(
        model=reply.model,
        text=reply.text,
        calls=reply.calls,
        finish_reason=reply.finish_reason,
        usage=reply.usage,
        cost_usd=reply.cost_usd,
        reasoning=reply.reasoning,
        extras=dict(reply.extras),
        purpose=purpose,
        duration_s=seconds,
    )


async def discard(runtime: Runtime, reply: Reply, reason: DiscardReason) -> None:
    await runtime.journal.record(
        ReplyDiscarded(model=reply.model, reason=reason, usage=reply.usage, cost_usd=reply.cost_usd)
    )
