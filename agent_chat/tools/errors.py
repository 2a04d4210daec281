"""How a tool says that it could not do what was asked."""

from __future__ import annotations


class ToolError(Exception):
    """An expected failure; its text is what the model is told.

    `retryable`: the same call may succeed a moment later. `fatal`: the turn cannot go on.
    """

    def __init__(self, message: str, *, retryable: bool = False, fatal: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.fatal = fatal
