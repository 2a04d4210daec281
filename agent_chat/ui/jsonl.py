"""The `stream-json` face: every event of the log as a line, the result last."""

from __future__ import annotations

from collections.abc import Callable

from agent_chat.core.events import Entry
from agent_chat.core.model import Delta
from agent_chat.core.outcome import StopReason
from agent_chat.ui.result import ResultSink
from agent_chat.ui.sanitize import json_safe
from agent_chat.ui.stdout import Output


class JsonLinesSink:
    """An `EventSink`. JSON is UTF-8: give it an `Output` with that encoding."""

    def __init__(self, stdout: Output) -> None:
        self._stdout = stdout
        self._result = ResultSink()

    async def emit(self, entry: Entry) -> None:
        await self._result.emit(entry)
        self._stdout.line(json_safe(entry.to_json()))

    def show(self, delta: Delta) -> None:
        pass

    def finish(self, exit_code: Callable[[StopReason], int]) -> None:
        """Writes the result; once, after the last event."""
        self._stdout.line(self._result.result(exit_code).to_json())
