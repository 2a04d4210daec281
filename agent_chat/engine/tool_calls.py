"""From intents to observations: gate, journal, run, journal.

Every intent ends in exactly one `ToolFinished` or `IntentRejected`, also when the turn is cancelled
in the middle of it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agent_chat.core.events import (
    IntentRejected,
    ToolFinished,
    ToolRetried,
    ToolStarted,
)
from agent_chat.core.messages import ToolCall
from agent_chat.core.model import Reply, ToolOutput
from agent_chat.core.observation import (
    NOT_STARTED,
    ErrorType,
    Observation,
    ToolResult,
    excerpt,
)
from agent_chat.core.ports import Tool, ToolContext
from agent_chat.core.text import storable
from agent_chat.engine.deadline import DeadlineExceeded, within
from agent_chat.engine.gate import Cleared, Rejected, gate
from agent_chat.engine.runtime import Runtime

FIRST_RETRY_WAIT = 0.5
"""Seconds before a failed tool is tried again; doubled each time."""


@dataclass(frozen=True, slots=True)
class Observed:
    """An intent and what came of it."""

    call: ToolCall
    arguments: str
    """Canonical JSON of what was run, or the text as it was received where nothing ran."""
    observation: Observation
    fatal: bool = False


async def run_intents(runtime: Runtime, reply: Reply) -> list[Observed]:
    """Runs the calls of a reply; observations in the order of the calls.

    Neighbours that only read run together; a call with side effects runs alone, in its place.
    """
    observed: dict[str, Observed] = {}
    slots = asyncio.Semaphore(runtime.rules.max_parallel)

    async def run(call: ToolCall) -> None:
        async with slots:
            observed[call.id] = await _run_intent(runtime, reply, call)

    try:
        for batch in _batches(runtime, reply.calls):
            async with asyncio.TaskGroup() as group:
                for call in batch:
                    group.create_task(run(call))
    finally:
        for call in reply.calls:
            if call.id in runtime.journal.state.unanswered:
                await _reject(runtime, call, Rejected("interrupted", NOT_STARTED))
    return [observed[call.id] for call in reply.calls]


def _batches(runtime: Runtime, calls: tuple[ToolCall, ...]) -> Iterator[list[ToolCall]]:
    batch: list[ToolCall] = []
    for call in calls:
        tool = runtime.toolbox.get(call.name)
        if tool is None or tool.effect == "read":
            batch.append(call)
            continue
        if batch:
            yield batch
        yield [call]
        batch = []
    if batch:
        yield batch


async def _run_intent(runtime: Runtime, reply: Reply, call: ToolCall) -> Observed:
    match await gate(runtime, reply, call):
        case Rejected() as rejected:
            return await _reject(runtime, call, rejected)
        case Cleared() as cleared:
            return await _run(runtime, call, cleared)


async def _reject(runtime: Runtime, call: ToolCall, rejected: Rejected) -> Observed:
    content = storable(rejected.message)
    await runtime.journal.record(
        IntentRejected(call_id=call.id, name=call.name, reason=rejected.reason, content=content)
    )
    return Observed(call, call.arguments, Observation(False, content, rejected.reason), fatal=rejected.final)


async def _run(runtime: Runtime, call: ToolCall, cleared: Cleared) -> Observed:
    journal, tool, arguments = runtime.journal, cleared.tool, cleared.arguments
    state = journal.state
    key = f"{journal.session_id}:{state.turn}:{state.iteration}:{call.id}"
    started = runtime.clock.monotonic()
    await journal.record(
        ToolStarted(
            call_id=call.id,
            name=call.name,
            arguments=dict(arguments),
            effect=tool.effect,
            idempotency_key=key,
        )
    )
    context = ToolContext(
        call.id,
        journal.session_id,
        key,
        lambda text: journal.show(ToolOutput(call.id, text)),
        journal.record,
    )
    note = changed_by_user(arguments) if cleared.changed else ""
    error_type: ErrorType | None
    try:
        result, error_type = await _attempts(runtime, tool, call, arguments, context)
    except asyncio.CancelledError:
        text = (
            f"Started, then interrupted by {runtime.stopped_by} before it finished. "
            "It may have had part of its effect."
        )
        await _finish(runtime, call, ToolResult(text, ok=False), "interrupted", started, note)
        raise
    observation = await _finish(runtime, call, result, error_type, started, note)
    fatal = result.fatal or (not result.ok and tool.on_failure == "fail")
    return Observed(
        call, json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=str), observation, fatal
    )


async def _attempts(
    runtime: Runtime, tool: Tool, call: ToolCall, arguments: Mapping[str, Any], context: ToolContext
) -> tuple[ToolResult, ErrorType | None]:
    """Runs a tool, again where its failure may pass; a failure becomes a value."""
    wait = FIRST_RETRY_WAIT
    attempt = 1
    while True:
        error_type: ErrorType | None = None
        try:
            result = await within(runtime.clock, tool.timeout, tool.run(arguments, context))
            error_type = None if result.ok else "error"
        except DeadlineExceeded:
            result = ToolResult(f"No result after {tool.timeout:g} s; stopped.", ok=False, retryable=True)
            error_type = "timeout"
        except Exception as error:
            # Whatever a tool raises is its own failure, never the loop's.
            result = ToolResult(f"{type(error).__name__}: {error}", ok=False)
            error_type = "error"
        if result.ok or not result.retryable or attempt > tool.retries:
            return result, error_type
        attempt += 1
        await runtime.journal.record(
            ToolRetried(
                call_id=call.id,
                name=call.name,
                attempt=attempt,
                seconds=wait,
                message=storable(excerpt(result.content, 500).text),
            )
        )
        await runtime.clock.sleep(wait)
        wait *= 2


def changed_by_user(arguments: Mapping[str, Any]) -> str:
    """The model has to know that what ran is not what it proposed."""
    shown = excerpt(json.dumps(arguments, ensure_ascii=False, default=str), 1000).text
    return f"[The user changed the arguments of this call before it ran: {shown}]\n"


async def _finish(
    runtime: Runtime,
    call: ToolCall,
    result: ToolResult,
    error_type: ErrorType | None,
    started: float,
    note: str,
) -> Observation:
    """`note` is said before the result."""
    # Before it is cut: half of a credential could not be told from other text.
    content = runtime.journal.redact(storable(result.content)) or "(no output)"
    stored: str | None = None
    shown = content
    if len(content) > runtime.rules.result_limit:
        stored = runtime.results.put(content)
        shown = excerpt(
            content, runtime.rules.result_limit, read_on=f'read_result(id="{stored}") reads on'
        ).text
    if not result.ok:
        shown = f"Error: {shown}"
    shown = storable(note) + shown
    await runtime.journal.record(
        ToolFinished(
            call_id=call.id,
            name=call.name,
            ok=result.ok,
            content=shown,
            error_type=error_type,
            retryable=result.retryable,
            ends_chat=result.ends_chat,
            size=len(content),
            stored=stored,
            duration_s=runtime.clock.monotonic() - started,
        )
    )
    return Observation(result.ok, shown, error_type, result.retryable)
