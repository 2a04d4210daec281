"""A pass over the messages: old tool results in part. Whoever needs the rest reads it with `read_result`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agent_chat.core.events import ContextThinned
from agent_chat.core.messages import AssistantMessage, Message, ToolMessage
from agent_chat.core.observation import excerpt

WORTH_CUTTING = 1.25
"""A result is left whole unless it is longer than it would be cut to by this factor."""


def thinned(body: Sequence[Message], event: ContextThinned) -> list[Message]:
    """`body`: the messages after the system message."""
    changed = list(body)
    for result in event.results:
        message = changed[result.message] if result.message < len(changed) else None
        if isinstance(message, ToolMessage):
            read_on = f'read_result(id="{result.stored}") reads on'
            text = excerpt(message.text, event.limit, read_on=read_on).text
            changed[result.message] = replace(message, text=text, stored=result.stored)
    return changed


def plan_thinning(body: Sequence[Message], keep_iterations: int, limit: int) -> tuple[int, ...]:
    """The places of the tool results that are worth cutting to `limit` characters: those before the last
    `keep_iterations` replies with calls."""
    replies = [
        place for place, message in enumerate(body) if isinstance(message, AssistantMessage) and message.calls
    ]
    if len(replies) <= keep_iterations:
        return ()
    end = replies[-keep_iterations] if keep_iterations else len(body)
    return tuple(
        place
        for place, message in enumerate(body[:end])
        if isinstance(message, ToolMessage) and len(message.text) > WORTH_CUTTING * limit + 100
    )
