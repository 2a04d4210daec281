"""From events to messages: what the model is shown, rebuilt from nothing but the log.

`Projection` is a fold: feed it every entry, in order, and read `messages()`. The messages are always
valid for the next model call: every call of a reply has exactly one tool message, in the order of the
calls, whatever happened to the turn or the process.

Four passes keep the messages fit for a request, in this order: *repair* (calls without a result get one,
roles alternate) at every message; *thinning*, *compaction* and *shortening* where the log has their event,
and only there: between two of them messages are only ever added, so that the bytes of a request's beginning
stay the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace
from typing import Self

from agent_chat.core.compaction import compacted
from agent_chat.core.events import (
    ChangeUndone,
    CompactionUndone,
    ContextCompacted,
    ContextShortened,
    ContextThinned,
    Event,
    IntentRejected,
    ModelReplied,
    ReplyInterrupted,
    Rewound,
    SessionResumed,
    SessionStarted,
    ToolFinished,
    ToolStarted,
    TurnPinned,
    TurnStarted,
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
from agent_chat.core.observation import NOT_STARTED, UNKNOWN_OUTCOME
from agent_chat.core.shortening import shortened
from agent_chat.core.thinning import thinned

INTERRUPTED_MARK = "[interrupted by the user]"


def project(events: Iterable[Event]) -> tuple[Message, ...]:
    """The messages of a whole log."""
    projection = Projection()
    for event in events:
        projection.apply(event)
    return projection.messages()


@dataclass(frozen=True, slots=True)
class _Mark:
    """The messages before a turn. A list of messages only grows, but for its last one, to which a text of the
    same role is added."""

    messages: list[Message]
    length: int
    last: Message | None


class Projection:
    """Messages kept up to date event by event, so that an iteration costs what is new and no more."""

    def __init__(self) -> None:
        self._system: SystemMessage | None = None
        self._messages: list[Message] = []
        self._open: dict[str, ToolFinished | IntentRejected | None] = {}
        """The calls of the last reply in order, and what came of each; None while unknown."""
        self._open_calls: tuple[ToolCall, ...] = ()
        self._started: set[str] = set()
        self.pins: tuple[str, ...] = ()
        """Texts that outlast every compaction."""
        self._whole: Projection | None = None
        """What this would be without the last compaction."""
        self._marks: list[_Mark] = []
        """Of the turns that are in the messages, in order."""

    def messages(self) -> tuple[Message, ...]:
        """All messages, the system message first. Calls that are still open are answered as they stand."""
        head = (self._system,) if self._system else ()
        return (*head, *self._messages, *self._open_answers())

    @property
    def compacted(self) -> bool:
        """Whether there is a compaction that can be undone."""
        return self._whole is not None

    def whole(self) -> tuple[Message, ...]:
        """The messages as they would be without the last compaction."""
        return (self._whole or self).messages()

    def apply(self, event: Event) -> None:
        if self._whole is not None:
            match event:
                case CompactionUndone():
                    self.__dict__ = self._whole.__dict__
                    return
                case ContextCompacted() | ContextShortened() | ContextThinned():
                    pass  # they are about these messages
                case _:
                    self._whole.apply(event)
        self._apply(event)

    def _apply(self, event: Event) -> None:
        match event:
            case SessionStarted():
                self._set_system(event.system)
            case SessionResumed():
                if event.system is not None:
                    self._set_system(event.system)
            case TurnStarted():
                self._mark()
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
                    self._open[event.call_id] = event
            case ChangeUndone():
                what = "removed again" if event.after is None else "as it was before that change again"
                self._add_user(f"[The user undid your last change of {event.path}: it is {what}.]")
            case ContextThinned():
                self._close()
                self._messages = thinned(self._messages, event)
            case ContextCompacted():
                self._close()
                self._whole = self._copy()
                self._messages = compacted(self._messages, event)
                self.pins = event.pinned
            case ContextShortened():
                self._close()
                self._messages = shortened(self._messages, event)
            case TurnPinned():
                self.pins = (*self.pins, event.text)
            case Rewound():
                self._rewind(event.turns)
            case _:
                pass

    def _mark(self) -> None:
        self._close()
        last = self._messages[-1] if self._messages else None
        self._marks.append(_Mark(self._messages, len(self._messages), last))

    def _rewind(self, turns: int) -> None:
        if not 0 < turns <= len(self._marks):
            return
        mark = self._marks[-turns]
        del self._marks[-turns:]
        if mark.messages is not self._messages:
            self._whole = None  # the compaction is taken back with the turns
        self._open_calls, self._open = (), {}
        self._messages = mark.messages[: mark.length]
        if mark.last is not None:
            self._messages[-1] = mark.last

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
            ToolMessage(call.id, call.name, *self._answer(call.id, self._open[call.id]))
            for call in self._open_calls
        ]

    def _answer(self, call_id: str, result: ToolFinished | IntentRejected | None) -> tuple[str, str | None]:
        """What the model is told of a call, and where the whole of it is kept."""
        if result is not None:
            return result.content, result.stored if isinstance(result, ToolFinished) else None
        return UNKNOWN_OUTCOME if call_id in self._started else NOT_STARTED, None

    def _copy(self) -> Self:
        """Another one, which takes the messages over: this one goes on with a list of its own. Call it while
        no calls are open."""
        other = copy(self)
        other._started = set(self._started)
        other._marks = list(self._marks)
        other._whole = None
        return other

    def _close(self) -> None:
        """Settles the calls of the last reply: after it other messages follow."""
        self._messages.extend(self._open_answers())
        self._open_calls = ()
        self._open = {}


def _sendable(arguments: str) -> str:
    """Providers refuse a history whose arguments are not JSON text of an object."""
    if not arguments.strip() or parse_arguments(arguments) is None:
        return "{}"
    return arguments
