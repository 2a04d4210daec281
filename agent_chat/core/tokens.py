"""How much of a context window something takes: what the provider counted, and an estimate of the rest.

No tokenizer: theirs differ, are large, and are not always to be had. The estimate goes by script, and is
used only for what came after the last reply whose tokens the provider counted.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent_chat.core.events import (
    ChangeUndone,
    CompactionUndone,
    ContextCompacted,
    ContextShortened,
    ContextThinned,
    Event,
    IntentRejected,
    ModelReplied,
    Rewound,
    SessionStarted,
    ToolFinished,
    TurnStarted,
    UserSaid,
)
from agent_chat.core.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from agent_chat.core.model import ToolSpec

PER_MESSAGE = 4
"""Tokens that a message takes beside its text."""


def estimate(text: str) -> int:
    """Tokens of a text, roughly: one for four ASCII characters, for two Cyrillic ones, for a Chinese one."""
    length = len(text)
    if text.isascii():
        return (length + 3) // 4
    plain = len(text.encode("ascii", "ignore"))
    # Each byte beyond the first of a character counts half: 2 bytes 0.5 tokens, 3 bytes 1, 4 bytes 1.5.
    return (plain + 3) // 4 + (len(text.encode("utf-8", "replace")) - length + 1) // 2


def estimate_message(message: Message) -> int:
    match message:
        case AssistantMessage():
            calls = sum(
                estimate(call.name) + estimate(call.arguments) + PER_MESSAGE for call in message.calls
            )
            extras = sum(estimate(str(value)) for value in message.extras.values())
            return PER_MESSAGE + estimate(message.text) + calls + extras
        case SystemMessage() | UserMessage() | ToolMessage():
            return PER_MESSAGE + estimate(message.text)


def estimate_tools(specs: Iterable[ToolSpec]) -> int:
    return sum(
        2 * PER_MESSAGE + estimate(spec.name) + estimate(spec.description) + estimate(str(spec.parameters))
        for spec in specs
    )


class WindowMeter:
    """What the next request takes of the window: a fold over the log, with running sums only."""

    def __init__(self) -> None:
        self._known = 0
        self._since = 0
        self.told = False
        """Whether a provider has counted the tools too; until then `tokens` lacks them."""
        self._turns: list[int] = []
        """Tokens before each turn, for those that are taken back."""

    @property
    def tokens(self) -> int:
        return self._known + self._since

    def apply(self, event: Event) -> None:
        match event:
            case ModelReplied(usage=usage) if usage is not None and usage.prompt:
                self._set(usage.prompt + usage.completion - usage.reasoning)
                self.told = True
            case ModelReplied():
                self._since += PER_MESSAGE + estimate(event.text)
                self._since += sum(estimate(call.name) + estimate(call.arguments) for call in event.calls)
            case SessionStarted():
                self._since += PER_MESSAGE + estimate(event.system)
            case UserSaid():
                self._since += PER_MESSAGE + estimate(event.text)
            case ToolFinished() | IntentRejected():
                self._since += PER_MESSAGE + estimate(event.content)
            case ChangeUndone():
                self._since += PER_MESSAGE + estimate(event.path)
            case TurnStarted():
                self._turns.append(self.tokens)
            case Rewound(turns=turns) if 0 < turns <= len(self._turns):
                self._set(self._turns[-turns])
                del self._turns[-turns:]
            case ContextThinned() | ContextCompacted() | CompactionUndone():
                self._set(event.tokens)
            case ContextShortened():
                self._set(event.tokens or self.tokens // 2)
            case _:
                pass

    def _set(self, tokens: int) -> None:
        self._known, self._since = tokens, 0
