"""What the scripts tell while they prepare: one line a step on stderr, what it does and how long it took."""

import shutil
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager


class SetupError(Exception):
    """The environment cannot be made; the message says what happened, why and what to do next."""


def say(text: str) -> None:
    sys.stderr.write(f"agent-chat: {text}\n")
    sys.stderr.flush()


class Step:
    """The line of one step; `detail` replaces its end where the line can be written over."""

    def __init__(self, text: str) -> None:
        self._beginning = f"agent-chat: {text} ... "
        # A line that wraps cannot be written over.
        self._room = shutil.get_terminal_size().columns - len(self._beginning) - 1
        self._is_open = sys.stderr.isatty() and self._room > 0

    def detail(self, text: str) -> None:
        if self._is_open:
            sys.stderr.write(f"\r\x1b[K{self._beginning}{text[: self._room]}")
            sys.stderr.flush()


@contextmanager
def step(text: str) -> Generator[Step]:
    began = time.monotonic()
    sys.stderr.write(f"agent-chat: {text} ... ")
    sys.stderr.flush()
    line = Step(text)
    end = "failed"
    try:
        yield line
        end = f"{time.monotonic() - began:.1f} s"
    finally:
        line.detail("")
        sys.stderr.write(f"{end}\n")
        sys.stderr.flush()
