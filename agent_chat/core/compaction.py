"""A pass over the messages: a summary in the place of the earlier ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from agent_chat.core.events import ContextCompacted
from agent_chat.core.messages import AssistantMessage, Message, ToolMessage, UserMessage
from agent_chat.core.observation import excerpt
from agent_chat.core.tokens import estimate_message

OPENING = "[The earlier part of this conversation was replaced by a summary to fit the context window.]"
ENDING = "[End of the summary.]"
PIN_LIMIT = 8_000
"""Characters of a message that is kept beside the summary without being asked for."""


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """What a summary is to replace."""

    dropped: int
    """The first so many of the messages after the system message."""
    kept: int
    pinned: tuple[str, ...]
    """Texts that stay word for word beside the summary."""
    tokens: int
    """Estimate of what is dropped."""


def compacted(body: Sequence[Message], event: ContextCompacted) -> list[Message]:
    """`body`: the messages after the system message. The summary stands in a user message, before what the
    user says next, for roles must alternate."""
    dropped, kept = list(body[: event.dropped]), list(body[event.dropped :])
    head = _head(event)
    if kept and isinstance(first := kept[0], UserMessage):
        return [UserMessage(f"{head}\n\n{first.text}"), *kept[1:]]
    if kept and (asked := _question(dropped)):
        # The question that is being answered stays, however much of the way to its answer goes.
        head = f"{head}\n\n{asked}"
    return [UserMessage(head), *kept]


def _head(event: ContextCompacted) -> str:
    pinned = (f"<kept>\n{text}\n</kept>" for text in event.pinned)
    summary = event.summary.replace(ENDING, "")
    return "\n\n".join((OPENING, *pinned, f"<summary>\n{summary}\n</summary>", ENDING))


def split_summary(text: str) -> tuple[str, str]:
    """What a user message holds of a summary, and what the user said himself."""
    if not text.startswith(OPENING):
        return "", text
    head, ending, said = text.partition(ENDING)
    return head + ending, said.lstrip("\n")


def _question(messages: Sequence[Message]) -> str:
    asked = next((one for one in reversed(messages) if isinstance(one, UserMessage)), None)
    return split_summary(asked.text)[1] if asked else ""


def plan_compaction(
    body: Sequence[Message],
    pins: Sequence[str],
    *,
    keep_turns: int,
    tail_tokens: int,
    asked: bool = False,
) -> CompactionPlan | None:
    """What to summarize; None where there is nothing to gain.

    The last `keep_turns` turns stay as they are, fewer where they take more than `tail_tokens`; of a turn
    that alone takes more, the last iterations. `asked`: between turns also everything may go.
    """
    sizes = [estimate_message(message) for message in body]
    after = [*reversed(list(accumulate(reversed(sizes)))), 0]
    cuts = [cut for cut in _cuts(body, keep_turns) if cut > 0]
    if asked:
        cuts.append(len(body))
    if not cuts or not body:
        return None
    fitting = (cut for cut in cuts if after[cut] <= tail_tokens)
    cut = next(fitting, cuts[-1])
    pinned = (*_first_said(body), *pins)
    return CompactionPlan(cut, len(body) - cut, pinned, after[0] - after[cut])


def _cuts(body: Sequence[Message], keep_turns: int) -> Iterator[int]:
    """Where the messages that stay may begin, those that keep most first."""
    turns = [place for place, message in enumerate(body) if isinstance(message, UserMessage)]
    yield from turns[-keep_turns:] if keep_turns else ()
    last = turns[-1] if turns else 0
    for place in range(last + 1, len(body)):
        message = body[place]
        if isinstance(message, AssistantMessage) and message.calls:
            yield place


def _first_said(body: Sequence[Message]) -> Iterator[str]:
    """The first user message is where a task is set. Once there was a compaction it is among the pins."""
    first = body[0]
    if isinstance(first, UserMessage) and not split_summary(first.text)[0]:
        yield excerpt(first.text, PIN_LIMIT).text


def transcript(messages: Sequence[Message], *, result_limit: int) -> str:
    """The messages as text, for a model that is to summarize them; tool results cut to `result_limit`
    characters."""
    return "\n\n".join(_written(message, result_limit) for message in messages)


def _written(message: Message, result_limit: int) -> str:
    match message:
        case UserMessage():
            return f"USER:\n{message.text}"
        case ToolMessage():
            return f"RESULT of {message.name}:\n{excerpt(message.text, result_limit).text}"
        case AssistantMessage():
            calls = (
                f"[calls {call.name}({excerpt(call.arguments, result_limit).text})]" for call in message.calls
            )
            return "\n".join(("ASSISTANT:", *filter(None, (message.text,)), *calls))
        case _:
            return f"SYSTEM:\n{message.text}"
