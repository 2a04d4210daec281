"""What somebody else's function prints belongs to its call, not to the program's standard streams."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO

_printed: ContextVar[Callable[[str], None] | None] = ContextVar("printed", default=None)


@contextmanager
def printing_to(output: Callable[[str], None]) -> Generator[None]:
    """Within, what this task and the threads that it starts print goes to `output`, of both streams.

    Elsewhere the streams are what they were. Programs that are started write past them.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, _Stream):
            setattr(sys, name, _Stream(stream))
    token = _printed.set(output)
    try:
        yield
    finally:
        _printed.reset(token)


class _Stream:
    """A standard stream that looks where text comes from."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        output = _printed.get()
        if output is None:
            return self._stream.write(text)
        # Whoever shows it may print in turn.
        token = _printed.set(None)
        try:
            output(text)
        finally:
            _printed.reset(token)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
