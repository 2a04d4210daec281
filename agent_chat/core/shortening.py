"""A pass over the messages: the older ones left out, and tool results cut, after the window overflowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agent_chat.core.compaction import split_summary
from agent_chat.core.events import ContextShortened
from agent_chat.core.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from agent_chat.core.observation import excerpt

SHORTENED_NOTE = "[The earlier part of this conversation was left out to fit the model's context window.]"


def shortened(body: Sequence[Message], event: ContextShortened) -> list[Message]:
    """`body`: the messages after the system message."""
    dropped, kept = body[: event.dropped], body[event.dropped :]
    messages: list[Message] = [_note(dropped, kept)] if dropped else []
    for message in kept:
        match message:
            case UserMessage() if messages and isinstance(last := messages[-1], UserMessage):
                messages[-1] = UserMessage(f"{last.text}\n\n{message.text}")
            case ToolMessage():
                text = excerpt(message.text, event.tool_result_limit).text
                messages.append(replace(message, text=text))
            case _:
                messages.append(message)
    return messages


def _note(dropped: Sequence[Message], kept: Sequence[Message]) -> UserMessage:
    parts = [SHORTENED_NOTE]
    users = [message for message in dropped if isinstance(message, UserMessage)]
    if users and (summary := split_summary(_without_note(users[0].text))[0]):
        # It is short, and all that is left of what went before.
        parts.append(summary)
    if users and not any(isinstance(message, UserMessage) for message in kept):
        # The question that is being answered stays, however much of the way to its answer goes.
        parts.append(split_summary(_without_note(users[-1].text))[1])
    return UserMessage("\n\n".join(filter(None, parts)))


def _without_note(text: str) -> str:
    return text.removeprefix(SHORTENED_NOTE).lstrip()


def message_size(message: Message) -> int:
    """Characters, as a measure of what a message takes of the context window."""
    match message:
        case AssistantMessage():
            calls = sum(len(call.name) + len(call.arguments) for call in message.calls)
            return len(message.text) + calls + sum(len(str(value)) for value in message.extras.values())
        case SystemMessage() | UserMessage() | ToolMessage():
            return len(message.text)


SHORTENED_SHARE = 0.45
"""What a shortening aims at: this share of the request's size before."""
LEAST_SHARE = 0.1
"""What it leaves of the messages at least, however much of the request cannot be shortened."""


def plan_shortening(messages: tuple[Message, ...], fixed: int) -> ContextShortened | None:
    """How to make the messages fit a window that they overflowed; None where nothing can be left out.

    `fixed`: characters of the request that stay whatever happens: the tools. Whole groups go, oldest first (a
    reply with calls goes together with its results); then the tool results that stay are cut.
    """
    body = [message for message in messages if not isinstance(message, SystemMessage)]
    sizes = [message_size(message) for message in body]
    stays = fixed + sum(message_size(message) for message in messages) - sum(sizes)
    aim = (stays + sum(sizes)) * SHORTENED_SHARE - stays
    budget = int(max(aim, sum(sizes) * LEAST_SHARE))
    starts = [index for index, message in enumerate(body) if not isinstance(message, ToolMessage)]
    # The last group always stays: without it there is nothing to answer.
    dropped = next((start for start in starts if sum(sizes[start:]) <= budget), starts[-1]) if starts else 0
    results = [sizes[index] for index in range(dropped, len(body)) if isinstance(body[index], ToolMessage)]
    rest = sum(sizes[dropped:]) - sum(results)
    limit = max(results, default=0)
    if sum(results) + rest > budget and results:
        limit = max(200, (budget - rest) // len(results))
    if dropped == 0 and limit >= max(results, default=0):
        return None
    return ContextShortened(dropped=dropped, tool_result_limit=limit)
