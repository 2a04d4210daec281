"""The words for the context window: what fills it, what was done to make room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from agent_chat.core.context import ContextUse
from agent_chat.core.context_events import (
    CacheMissed,
    CompactionFailed,
    CompactionStarted,
    CompactionUndone,
    ContextCompacted,
    ContextThinned,
    JobReplied,
    PrefixChange,
    SessionTitled,
    TurnPinned,
)
from agent_chat.ui import phrases
from agent_chat.ui.sanitize import one_line, visible
from agent_chat.ui.shown import NoteKind

ContextEvent = (
    ContextThinned
    | CompactionStarted
    | ContextCompacted
    | CompactionFailed
    | CompactionUndone
    | TurnPinned
    | CacheMissed
    | JobReplied
    | SessionTitled
)

BAR = 40
"""Columns of the bar of `/context`."""

_CHANGED: dict[PrefixChange, str] = {
    "model": "another model was asked",
    "system": "the system prompt changed",
    "tools": "the tools changed",
    "messages": "an earlier message changed",
    "none": "the request began as before, so the provider has forgotten it",
}


def context_lines(event: ContextEvent) -> Iterator[tuple[NoteKind, str]]:
    """What is said of an event, if anything."""
    match event:
        case ContextThinned():
            results = phrases.count(len(event.results), "old tool result")
            yield (
                "notice",
                f"{results} cut to make room in the context window; the model can read them again",
            )
        case CompactionStarted():
            share = f" ({_share(event.tokens, event.window)} of the window)" if event.window else ""
            full = f"The context holds {event.tokens:,} tokens{share}. " if event.reason == "full" else ""
            yield "notice", f"{full}{one_line(event.model)} summarizes the earlier part of the conversation."
        case ContextCompacted():
            yield "notice", _compacted(event)
            yield "detail", f"summary:\n{visible(event.summary)}"
        case CompactionFailed():
            yield (
                "warning",
                f"There is no summary: {visible(event.message)} The conversation goes on as it is.",
            )
        case CompactionUndone():
            yield "notice", f"The model sees everything again: {event.tokens:,} tokens."
        case TurnPinned():
            yield "detail", "pinned: the text outlasts every compaction"
        case CacheMissed():
            detail = f": {one_line(event.detail)}" if event.detail else ""
            kind: NoteKind = "detail" if event.changed == "none" else "warning"
            cached = f"{event.cached:,} of {event.prompt:,} tokens came from the provider's cache"
            yield kind, f"Only {cached}: {_CHANGED[event.changed]}{detail}."
        case JobReplied():
            usage = f" | {phrases.tokens(event.usage)}" if event.usage else ""
            yield (
                "detail",
                f"{event.job} by {one_line(event.model)}{usage} | {phrases.cost(event.cost_usd)}",
            )
        case SessionTitled():
            yield "detail", f"title: {one_line(event.title)}"
        case _:
            assert_never(event)


def _compacted(event: ContextCompacted) -> str:
    dropped, kept = phrases.count(event.dropped, "message"), phrases.count(event.kept, "message")
    pinned = f", {phrases.count(len(event.pinned), 'pinned text')}" if event.pinned else ""
    return (
        f"{dropped} replaced by a summary; kept: the last {kept}{pinned}. "
        f"The context went from {event.tokens_before:,} to {event.tokens:,} tokens. "
        "The whole conversation stays in the session; /compact undo shows it to the model again."
    )


def _share(tokens: int, window: int) -> str:
    return f"{round(100 * tokens / window)} %"


def context_report(use: ContextUse) -> list[str]:
    """What fills the window, source by source, with a bar each."""
    of = f" of {use.window:,} ({_share(use.tokens, use.window)})" if use.window else ""
    basis = "counted by the provider" if use.counted else "estimated"
    lines = [f"{use.tokens:,} tokens{of}, {basis}"]
    if not use.window:
        lines[0] += "; the model's window is not known (set agent.context.window)"
    scale = use.window or use.tokens or 1
    rows = [(str(source), tokens) for source, tokens in use.sources.items() if tokens]
    if use.window and use.tokens < use.window:
        rows.append(("free", use.window - use.tokens))
    width = max((len(name) for name, _ in rows), default=0)
    digits = max((len(f"{tokens:,}") for _, tokens in rows), default=0)
    for name, tokens in rows:
        filled = min(BAR, max(1, round(BAR * tokens / scale)))
        bar = ("." if name == "free" else "#") * filled
        lines.append(f"{name:<{width}}  {tokens:>{digits},}  {round(100 * tokens / scale):>3} %  {bar}")
    return lines
