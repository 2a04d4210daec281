"""From events to messages: what the model is shown, rebuilt from nothing but the log.

`Projection` is a fold: feed it every entry, in order, and read `messages()`. The messages are always
valid for the next model call: every call of a reply has exactly one tool message, in the order of the
calls, whatever happened to the turn or the process.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from agent_chat.core.events import (
    ChangeUndone,
    ContextShortened,
    Event,
    IntentRejected,
    ModelReplied,
    ReplyInterrupted,
    SessionResumed,
    SessionStarted,
    ToolFinished,
    ToolStarted,
    UserSaid,
)
from agent_chat.core.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
    parse_arguments,
)
from agent_chat.core.observation import NOT_STARTED, UNKNOWN_OUTCOME, excerpt

INTERRUPTED_MARK = "[interrupted by the user]"
SHORTENED_NOTE = "[The earlier part of this conversation was left out to fit the model's context window.]"


def project(events: Iterable[Event]) -> tuple[Message, ...]:
    """The messages of a whole log."""
    projection = Projection()
    for event in events:
        projection.apply(event)
    return projection.messages()


class Projection:
    """Messages kept up to date event by event, so that an iteration costs what is new and no more."""

    def __init__(self) -> None:
        self._system: SystemMessage | None = None
        self._messages: list[Message] = []
        self._open: dict[str, str | None] = {}
        """The calls of the last reply in order; what the model is told of each, None while unknown."""
        self._open_calls: tuple[ToolCall, ...] = ()
        self._started: set[str] = set()

    def messages(self) -> tuple[Message, ...]:
        """All messages, the system message first. Calls that are still open are answered as they stand."""
        head = (self._system,) if self._system else ()
        return (*head, *self._messages, *self._open_answers())

    def apply(self, event: Event) -> None:
        match event:
            case SessionStarted():
                self._set_system(event.system)
            case SessionResumed():
                if event.system is not None:
                    self._set_system(event.system)
            case UserSaid():
                self._add_user(event.text)
            case ModelReplied():
                self._add_reply(event)
            case ReplyInterrupted():
                if event.text:
                    self._add_assistant(AssistantMessage(f"{event.text}\n\n{INTERRUPTED_MARK}"))
            case ToolStarted():
                self._started.add(event.call_id)
            case ToolFinished() | IntentRejected():
                if event.call_id in self._open:
                    self._open[event.call_id] = event.content
            case ChangeUndone():
                what = "removed again" if event.after is None else "as it was before that change again"
                self._add_user(f"[The user undid your last change of {event.path}: it is {what}.]")
            case ContextShortened():
                self._shorten(event)
            case _:
                pass

    def _set_system(self, text: str) -> None:
        self._system = SystemMessage(text) if text else None

    def _add_user(self, text: str) -> None:
        self._close()
        if self._messages and isinstance(last := self._messages[-1], UserMessage):
            # A turn that failed left its message unanswered; roles must alternate.
            self._messages[-1] = UserMessage(f"{last.text}\n\n{text}")
        else:
            self._messages.append(UserMessage(text))

    def _add_reply(self, event: ModelReplied) -> None:
        sendable = tuple(replace(call, arguments=_sendable(call.arguments)) for call in event.calls)
        self._add_assistant(AssistantMessage(event.text, sendable, event.model, event.extras))
        self._open_calls = sendable
        self._open = {call.id: None for call in sendable}
        self._started = set()

    def _add_assistant(self, message: AssistantMessage) -> None:
        self._close()
        if self._messages and isinstance(last := self._messages[-1], AssistantMessage) and not last.calls:
            message = replace(message, text=last.text + message.text)
            self._messages[-1] = message
        else:
            self._messages.append(message)

    def _open_answers(self) -> list[ToolMessage]:
        return [
            ToolMessage(call.id, call.name, self._answer(call.id, self._open[call.id]))
            for call in self._open_calls
        ]

    def _answer(self, call_id: str, content: str | None) -> str:
        if content is not None:
            return content
        return UNKNOWN_OUTCOME if call_id in self._started else NOT_STARTED

    def _close(self) -> None:
        """Settles the calls of the last reply: after it other messages follow."""
        self._messages.extend(self._open_answers())
        self._open_calls = ()
        self._open = {}

    def _shorten(self, event: ContextShortened) -> None:
        self._close()
        dropped, kept = self._messages[: event.dropped], self._messages[event.dropped :]
        note = SHORTENED_NOTE
        asked = next((message for message in reversed(dropped) if isinstance(message, UserMessage)), None)
        if asked and not any(isinstance(message, UserMessage) for message in kept):
            # The question that is being answered stays, however much of the way to its answer goes.
            note = f"{note}\n\n{asked.text.removeprefix(SHORTENED_NOTE).lstrip()}"
        self._messages = []
        if dropped:
            self._messages.append(UserMessage(note))
        for message in kept:
            match message:
                case UserMessage():
                    self._add_user(message.text)
                case ToolMessage():
                    self._messages.append(
                        replace(message, text=excerpt(message.text, event.tool_result_limit).text)
                    )
                case _:
                    self._messages.append(message)


def _sendable(arguments: str) -> str:
    """Providers refuse a history whose arguments are not JSON text of an object."""
    if not arguments.strip() or parse_arguments(arguments) is None:
        return "{}"
    return arguments


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
