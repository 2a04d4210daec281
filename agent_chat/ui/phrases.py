"""The words for outcomes, amounts and calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agent_chat.core.budget import LimitUse, format_amount
from agent_chat.core.events import ApprovalResolved, ChangeUndone, FileChanged, LimitWarning, TurnEnded
from agent_chat.core.model import Usage
from agent_chat.core.observation import Rejection
from agent_chat.core.outcome import StopReason
from agent_chat.ui.sanitize import one_line, revealed, visible

HINTS: dict[StopReason, str] = {
    "final_answer": "",
    "chat_ended": "",
    "max_iterations": "Say what to do next to go on, or raise the limit with --max-iterations.",
    "budget_tokens": "Raise the limit with --max-tokens-total, or start a new session.",
    "budget_cost": "Raise the limit with --max-cost, or use a cheaper model with --model.",
    "budget_time": "Raise the limit with --max-time, or ask for a smaller step.",
    "budget_tool_calls": "Say what to do next to go on, or raise the limit with --max-tool-calls.",
    "repeated_calls": "Say what to try instead, or use another model with --model.",
    "output_truncated": "Ask for a shorter answer, or for the rest in parts.",
    "interrupted": "",
    "terminated": "",
    "invalid_intents": "Say what you want in other words, or use another model with --model.",
    "permission_denied": "Allow the call with --allow, or ask for another way.",
    "tool_failed": "Mend what the message names, then ask again.",
    "model_auth": "Check the provider's key and account, or use another model with --model.",
    "model_request": "Check the model's name and its address, or use another model with --model.",
    "model_unavailable": "Try again later, or name a second model with --fallback.",
    "model_rate_limited": "Try again later, or name a second model with --fallback.",
    "context_overflow": "Start a new session, send less at once, or use a model with a larger window.",
    "content_filtered": "Ask in other words, or use another model with --model.",
    "empty_reply": "Ask again, or use another model with --model.",
    "verification_failed": "Look at what the check says, and ask for what is missing.",
    "awaiting_approval": "See `agent-chat pending`; answer with `agent-chat approve ID` or `deny ID`.",
}
"""What to do next, for every way in which a turn can end."""

REJECTIONS: dict[Rejection, str] = {
    "unknown_tool": "unknown tool",
    "not_allowed": "not allowed here",
    "invalid_arguments": "invalid arguments",
    "cut_off": "cut off by the output limit",
    "denied": "denied",
    "over_budget": "over the limit",
    "interrupted": "interrupted",
}

MESSAGE_KEPT = "Your message is kept and goes to the model together with your next one."


def seconds(amount: float) -> str:
    """`0.4 s`, `12 s`, `3 min 5 s`."""
    if amount < 9.95:
        return f"{amount:.1f} s"
    whole = round(amount)
    return f"{whole} s" if whole < 120 else f"{whole // 60} min {whole % 60} s"


def cost(amount: float | None) -> str:
    """`$0.0012`; unknown is said, and never 0."""
    if amount is None:
        return "cost unknown"
    if amount == 0:
        return "$0"
    return f"${amount:.4f}" if amount >= 0.0001 else "under $0.0001"


def tokens(usage: Usage) -> str:
    """`1,234 tokens in (1,000 cached), 56 out (20 reasoning)`."""
    cached = f" ({usage.cached:,} cached)" if usage.cached else ""
    reasoning = f" ({usage.reasoning:,} reasoning)" if usage.reasoning else ""
    return f"{usage.prompt:,} tokens in{cached}, {usage.completion:,} out{reasoning}"


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def closing(end: TurnEnded, session_id: str) -> str:
    """What a turn took, on one line."""
    parts = [count(end.iterations, "iteration")]
    if end.tool_calls:
        parts.append(count(end.tool_calls, "tool call"))
    if end.usage.total or end.cost_usd != 0:  # else no reply came, and what it cost nobody knows
        parts.extend((tokens(end.usage), cost(end.cost_usd)))
    parts.extend((seconds(end.duration_s), f"session {one_line(session_id)}"))
    return " | ".join(parts)


def ending(end: TurnEnded) -> str:
    """Why a turn stopped short of its answer, and what to do next; empty where it did not."""
    hint = HINTS[end.reason]
    evidence = visible(end.evidence).strip()
    match end.kind:
        case "completed":
            return ""
        case "degraded":
            first = evidence or f"Stopped: {end.reason}."
        case "cancelled":
            first = evidence or "Interrupted."
        case "failed":
            first = f"Failed ({end.reason}): {evidence}" if evidence else f"Failed: {end.reason}."
        case "suspended":
            first = f"Suspended: {evidence or end.reason}"
    return f"{first}\n{hint}" if hint else first


def limit_warning(warning: LimitWarning) -> str:
    use = LimitUse(warning.limit, warning.used, warning.of)
    share = int(100 * warning.used / warning.of)
    used = format_amount(warning.limit, warning.used)
    return f"{share} % of the {use.describe(warning.scope)} is used: {used}."


def approved(event: ApprovalResolved) -> str:
    """How far a yes goes, where it is more than to this call as it was proposed; else empty."""
    lasts = {"once": "", "session": " for this session", "always": " always"}[event.duration]
    changed = ", with changed arguments" if event.arguments is not None else ""
    return f"{one_line(event.name)} allowed{lasts}{changed}" if lasts or changed else ""


def change(event: FileChanged | ChangeUndone) -> str:
    """What became of a file."""
    path = one_line(event.path)
    if isinstance(event, ChangeUndone):
        return f"{path}: {'removed again' if event.after is None else 'as it was before'}"
    new = "new file, " if event.before is None else ""
    return f"{path}: {new}+{event.added:,} -{event.removed:,}; /undo takes it back"


def dry_run(calls: Sequence[str]) -> str:
    """What a turn would have done. `calls`: one line each."""
    if not calls:
        return "Dry run: nothing would have been done."
    lines = (f"{number}. {call}" for number, call in enumerate(calls, start=1))
    return "\n".join(["Dry run: nothing was done. This would have been:", *lines])


def call_line(name: str, arguments: Mapping[str, Any], limit: int) -> str:
    """`read_file(path="a.txt", lines=3)`; each value is cut so that the line is about `limit` long."""
    room = max(12, (limit - len(name)) // max(1, len(arguments)))
    parts = [f"{key}={cut(_value(value, room), room)}" for key, value in arguments.items()]
    return f"{cut(one_line(name), 80)}({one_line(', '.join(parts))})"


def result_text(content: str, *, lines: int, columns: int) -> str:
    """The first lines of a tool's result, each cut; says how many more there are."""
    shown = [cut(line.rstrip(), columns) for line in revealed(content).strip("\n").split("\n")]
    if len(shown) <= lines:
        return "\n".join(shown)
    return "\n".join([*shown[:lines], f"... {count(len(shown) - lines, 'more line')}"])


def cut(text: str, limit: int) -> str:
    """At most `limit` characters; a mark where something is missing."""
    return text if len(text) <= limit else f"{text[: max(1, limit - 3)]}..."


def _value(value: object, room: int) -> str:
    if isinstance(value, str) and len(value) > 2 * room:
        value = value[: 2 * room]
    return json.dumps(value, ensure_ascii=False, default=str)
