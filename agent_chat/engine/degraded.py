"""The end of a turn that ran into a limit: what is known, what was done, what to try next."""

from __future__ import annotations

from collections.abc import Sequence

from agent_chat.core.errors import ModelFailure
from agent_chat.core.observation import excerpt
from agent_chat.core.outcome import Outcome, StopReason
from agent_chat.engine.iteration import ask, discard, replied
from agent_chat.engine.runtime import Runtime
from agent_chat.engine.tool_calls import Observed

SPENT: frozenset[StopReason] = frozenset(("budget_cost", "budget_time"))
"""Reasons after which there is nothing left to pay a summary with."""
SHOWN_CALLS = 20


async def degrade(
    runtime: Runtime, reason: StopReason, evidence: str, done: Sequence[Observed], text: str
) -> Outcome:
    """Ends a turn with the best partial answer: the model's summary, or one composed from what happened.

    `done` and `text` are the turn's observations and the last text that the model wrote.
    """
    summary = "" if reason in SPENT else await _summary(runtime, evidence)
    return Outcome(reason, summary or _compose(evidence, done, text), evidence)


async def _summary(runtime: Runtime, evidence: str) -> str:
    request = (
        f"The work stops here: {evidence} Do not call tools. In a few sentences, tell the user what is known "
        "by now, what was done, and what to try next. Do not claim that the task is complete."
    )
    limit = runtime.rules.summary_tokens
    try:
        reply, seconds = await ask(runtime, request, with_tools=False, max_output_tokens=limit)
    except ModelFailure:
        return ""
    if reply.calls or not reply.text.strip():
        await discard(runtime, reply, "no_summary")
        return ""
    await runtime.journal.record(replied(reply, seconds, "summary"))
    return reply.text.strip()


def _compose(evidence: str, done: Sequence[Observed], text: str) -> str:
    lines = [text.strip(), ""] if text.strip() else []
    lines.append(f"The work was not completed. {evidence}")
    if done:
        lines.append(f"What was done ({len(done)} tool calls):")
        if len(done) > SHOWN_CALLS:
            lines.append(f"- … {len(done) - SHOWN_CALLS} earlier calls")
        for one in done[-SHOWN_CALLS:]:
            result = " ".join(excerpt(one.observation.content, 160).text.split())
            lines.append(f"- {one.call.name}({excerpt(one.arguments, 120).text}): {result}")
    lines.append("To go on, say what to do next, or raise the limit.")
    return "\n".join(lines)
