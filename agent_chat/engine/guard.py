"""Notices a turn that goes in circles."""

from __future__ import annotations

from collections.abc import Sequence

from agent_chat.engine.tool_calls import Observed


class RepetitionGuard:
    """Counts iterations in a row that asked for the same and observed the same."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._last: tuple[tuple[str, str, str], ...] = ()
        self._count = 0

    def stuck(self, observed: Sequence[Observed]) -> bool:
        """Takes the calls of one iteration; true when the limit is reached."""
        signature = tuple((one.call.name, one.arguments, one.observation.content) for one in observed)
        self._count = self._count + 1 if signature == self._last else 1
        self._last = signature
        return self._count >= self._limit
