"""Makes room in the context window: before an iteration where it is nearly full, or when the user asks.

First old tool results are cut. Where that is not enough, a model writes a summary that takes the place of the
older messages. Whatever fails, the messages stay as they are, and the run goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agent_chat.core.compaction import CompactionPlan, compacted, plan_compaction, transcript
from agent_chat.core.context import estimate_all
from agent_chat.core.context_events import (
    CompactionFailed,
    CompactionReason,
    CompactionStarted,
    CompactionUndone,
    ContextCompacted,
    ContextThinned,
    ThinnedResult,
)
from agent_chat.core.errors import ModelFailure
from agent_chat.core.messages import Message, SystemMessage, ToolMessage, UserMessage
from agent_chat.core.model import Query
from agent_chat.core.ports import ChatModel
from agent_chat.core.shortening import plan_shortening
from agent_chat.core.thinning import plan_thinning, thinned
from agent_chat.core.tokens import estimate
from agent_chat.engine.jobs import do_job, prompt
from agent_chat.engine.runtime import Runtime

SMALLEST_WINDOW = 4_000
"""Tokens; a request well below this is in no model's way."""
SUMMARY_TOKENS = 2_000
"""Output limit of a summary; an eighth of the window where that is less."""
TAIL = 0.25
"""The share of the window that the messages may take which stay as they are."""
LEAST_TAIL = 1_000
"""Tokens that they may take in any case."""
WORTH_IT = 0.1
"""The share of the window that a thinning or a compaction has to free: each costs the provider's cache."""
TRY_AGAIN = 0.05
"""By how much of the window a request has to have grown before a summary that failed is tried again."""
BRIM = 0.95
"""From this share of the window on the messages are shortened where there is no summary."""
TRANSCRIPT_RESULT = 2_000
"""Characters of a tool result in what the small model is given to summarize."""
BEGINNING = 200
"""Characters of the first message by which a model is told where the conversation begins."""
SMALL_WINDOW = 32_000
"""Tokens that a small model is taken to have room for where its window is not known."""


async def make_room(runtime: Runtime) -> None:
    """To be called before each iteration; does nothing while there is room or the window is unknown."""
    rules, state = runtime.rules.context, runtime.journal.state
    if state.turn <= 1 and state.iteration <= 1:
        return  # there is nothing yet that could be left out
    tokens = request_tokens(runtime)
    if tokens < SMALLEST_WINDOW / 4 or (window := runtime.window()) is None:
        return
    if rules.thin_at is not None and tokens >= rules.thin_at * window:
        await _thin(runtime, tokens, window)
        tokens = request_tokens(runtime)
    if rules.compact_at is not None and tokens >= rules.compact_at * window:
        failed_at = state.compaction_failed_at
        if not state.compaction_undone and (not failed_at or tokens >= failed_at + TRY_AGAIN * window):
            await compact(runtime, "full")


def request_tokens(runtime: Runtime) -> int:
    """What the next request takes: the provider's count where there is one, and an estimate of the rest."""
    meter = runtime.journal.state.window
    return meter.tokens if meter.told else meter.tokens + runtime.tool_tokens()


async def compact(runtime: Runtime, reason: CompactionReason, focus: str = "") -> bool:
    """Whether there was something to summarize. A summary that fails is an event."""
    journal, window, tokens = runtime.journal, runtime.window(), request_tokens(runtime)
    messages = journal.messages()
    system, body = _split(messages)
    plan = plan_compaction(
        body,
        journal.pins,
        keep_turns=runtime.rules.context.keep_turns,
        tail_tokens=max(LEAST_TAIL, int(TAIL * (window or tokens))),
        asked=reason == "asked",
    )
    if plan is None or (reason == "full" and plan.tokens < WORTH_IT * (window or 0)):
        return False
    model = _writer(runtime, body, plan)
    await journal.record(
        CompactionStarted(reason=reason, model=model.name, tokens=tokens, window=window, focus=focus)
    )
    try:
        summary = await _summary(runtime, model, messages, plan, focus)
    except ModelFailure as failure:
        await journal.record(CompactionFailed(message=failure.message, tokens=tokens))
        if window and tokens >= BRIM * window:
            await shorten(runtime)
        return True
    except asyncio.CancelledError:
        await journal.record(CompactionFailed(message="It was interrupted.", tokens=0))
        raise
    event = ContextCompacted(
        summary=summary,
        pinned=plan.pinned,
        dropped=plan.dropped,
        kept=plan.kept,
        tokens_before=tokens,
        tokens=0,
    )
    after = _scaled(runtime, tokens, messages, (*system, *compacted(body, event)))
    await journal.record(event.model_copy(update={"tokens": after}))
    runtime.prefix.forget()
    return True


def undo_compaction(runtime: Runtime) -> CompactionUndone | None:
    """The event that takes the last compaction back; None where there is none."""
    whole = runtime.journal.messages_before_compaction()
    if whole is None:
        return None
    runtime.prefix.forget()
    tokens = _scaled(runtime, request_tokens(runtime), runtime.journal.messages(), whole)
    return CompactionUndone(tokens=tokens)


async def shorten(runtime: Runtime) -> bool:
    """Leaves out the older messages; false where that cannot be done."""
    tools = sum(len(spec.description) + len(str(spec.parameters)) for spec in runtime.toolbox.specs())
    plan = plan_shortening(runtime.journal.messages(), tools)
    if plan is None:
        return False
    await runtime.journal.record(plan)
    runtime.prefix.forget()
    return True


async def _thin(runtime: Runtime, tokens: int, window: int) -> None:
    rules, messages = runtime.rules.context, runtime.journal.messages()
    system, body = _split(messages)
    places = plan_thinning(body, rules.keep_iterations, rules.thinned_to)
    freed = sum(estimate(body[place].text) - rules.thinned_to // 4 for place in places)
    if freed < WORTH_IT * window:
        return
    results = tuple(ThinnedResult(place, _kept(runtime, body[place])) for place in places)
    event = ContextThinned(results=results, limit=rules.thinned_to, tokens=0)
    after = _scaled(runtime, tokens, messages, (*system, *thinned(body, event)))
    await runtime.journal.record(event.model_copy(update={"tokens": after}))
    runtime.prefix.forget()


def _kept(runtime: Runtime, message: Message) -> str:
    """The id under which the whole of a tool result can be read."""
    stored = message.stored if isinstance(message, ToolMessage) else None
    return stored or runtime.results.put(message.text)


def _split(messages: Sequence[Message]) -> tuple[Sequence[Message], Sequence[Message]]:
    """The system message, if there is one, and all others."""
    first = 1 if messages and isinstance(messages[0], SystemMessage) else 0
    return messages[:first], messages[first:]


def _scaled(runtime: Runtime, tokens: int, before: Sequence[Message], after: Sequence[Message]) -> int:
    """What a request takes after a change: the estimates' ratio, applied to what it took before."""
    specs = runtime.toolbox.specs()
    return round(tokens * estimate_all(after, specs) / max(1, estimate_all(before, specs)))


def _writer(runtime: Runtime, body: Sequence[Message], plan: CompactionPlan) -> ChatModel:
    """The small model where the conversation fits into it; else the main one, which had all of it anyway."""
    small = runtime.small
    if small is None:
        return runtime.model
    room = 0.8 * (runtime.window_of(small.name) or SMALL_WINDOW) - SUMMARY_TOKENS
    fits = estimate(transcript(body[: plan.dropped], result_limit=TRANSCRIPT_RESULT)) <= room
    return small if fits else runtime.model


async def _summary(
    runtime: Runtime, model: ChatModel, messages: Sequence[Message], plan: CompactionPlan, focus: str
) -> str:
    instructions = prompt("compaction")
    if focus:
        instructions += f"\n\nThe user asks for attention to this above all: {focus}"
    limit = min(SUMMARY_TOKENS, (runtime.window() or SUMMARY_TOKENS * 8) // 8)
    if model is runtime.small:
        given = transcript(_split(messages)[1][: plan.dropped], result_limit=TRANSCRIPT_RESULT)
        asked = UserMessage(f"<conversation>\n{given}\n</conversation>\n\nWrite the summary.")
        query = Query((SystemMessage(instructions), asked), max_output_tokens=limit)
        try:
            return await do_job(runtime, model, "compaction", query, audible=True)
        except ModelFailure:
            pass  # the main model may still write it
    # The same beginning as every other request, so that the provider has it in its cache.
    said = messages[:-1] if isinstance(messages[-1], UserMessage) else messages
    # Some models are given examples before it, and would summarize those.
    begin = " ".join(_split(messages)[1][0].text[:BEGINNING].split())
    instructions += f"\n\nThe conversation to summarize begins with the words: {begin}"
    query = Query((*said, UserMessage(instructions)), runtime.toolbox.specs(), "none", limit)
    return await do_job(runtime, runtime.model, "compaction", query, audible=True)
