"""What is known of a tool and its results from the log alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from agent_chat.core.approval import Preview
from agent_chat.core.context_events import ContextThinned
from agent_chat.core.events import (
    ApprovalRequested,
    Event,
    IntentRejected,
    ToolFinished,
    ToolStarted,
    TurnEnded,
)
from agent_chat.core.messages import parse_arguments
from agent_chat.core.model import ToolSpec
from agent_chat.core.observation import Effect, OnFailure, ToolResult
from agent_chat.core.ports import ToolContext
from agent_chat.engine.replay.script import TurnScript
from agent_chat.engine.tool_calls import changed_by_user


class ReplayResults:
    """A `ResultStore` that knows the ids of the log."""

    def __init__(self, script: TurnScript) -> None:
        self._script = script
        self._ids: dict[str, str] = {}
        self._texts: dict[str, str] = {}

    def expect(self, text: str, result_id: str) -> None:
        self._ids[text] = result_id

    def put(self, text: str) -> str:
        result_id = self._ids.get(text) or self._thinned()
        self._texts[result_id] = text
        return result_id

    def get(self, result_id: str) -> str | None:
        return self._texts.get(result_id)

    def _thinned(self) -> str:
        """The id of the next result that is kept because it is shown in part from now on."""
        event = self._script.next
        ids = [result.stored for result in event.results] if isinstance(event, ContextThinned) else []
        return next((one for one in ids if one not in self._texts), "not-in-the-log")


class Remembered:
    """A tool of which only the log knows."""

    timeout = None
    retries = 0
    on_failure: OnFailure = "observe"

    def __init__(self, name: str, effect: Effect, script: TurnScript) -> None:
        self.spec = ToolSpec(name, "", {"type": "object"})
        self.effect: Effect = effect
        self._script = script

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        for event in self._fate(arguments):
            match event:
                case IntentRejected(reason="invalid_arguments"):
                    raise ValueError(event.content.removeprefix("Not run: "))
                case ToolStarted() | ApprovalRequested():
                    return dict(event.arguments)
                case _:
                    pass
        return dict(arguments)

    async def preview(self, arguments: Mapping[str, Any]) -> Preview | None:
        return None

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        raise AssertionError("what is only remembered is never run")

    def _fate(self, arguments: Mapping[str, Any]) -> Iterable[Event]:
        """What is to become of the call that was proposed with these arguments."""
        reply = self._script.last_reply()
        ids = {
            call.id
            for call in (reply.calls if reply else ())
            if call.name == self.spec.name and parse_arguments(call.arguments) == arguments
        }
        return (event for event in self._script.ahead() if getattr(event, "call_id", None) in ids)


def result_of(
    event: ToolFinished,
    arguments: Mapping[str, Any],
    limit: int,
    results: ReplayResults,
    end: TurnEnded | None,
) -> ToolResult:
    """What a tool must have given for this to be told of it. `limit`: characters that the model is shown;
    `end`: of its turn."""
    fatal = end is not None and (end.reason, end.evidence) == (
        "tool_failed",
        f"{event.name}: {event.content}",
    )
    content = event.content.removeprefix(changed_by_user(arguments))
    if not event.ok:
        content = content.removeprefix("Error: ")
    if event.stored is not None:
        content = whole(content, limit, event.size)
        results.expect(content, event.stored)
    return ToolResult(content, event.ok, event.retryable, fatal, event.ends_chat)


def whole(shown: str, limit: int, size: int | None) -> str:
    """A text of which `shown` is the excerpt of `limit` characters; the middle is nowhere in the log.

    `size`: characters of the whole text; None where the excerpt itself tells.
    """
    if len(shown) <= limit:
        return shown
    if size is None:
        told = re.search(r"\[… ([0-9,]+) of ([0-9,]+) characters left out", shown)
        if told is None:
            return shown
        size = int(told[2].replace(",", ""))
    head = limit * 2 // 3
    tail = limit - head
    return shown[:head] + "?" * (size - limit) + shown[len(shown) - tail :]
