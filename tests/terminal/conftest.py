"""A session with a scripted model in a real terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Protocol

import pytest
from support.fixtures import OpenTerminal
from support.terminal import Terminal

DEMO = Path(__file__).with_name("demo.py")
READY = "Enter sends"


class OpenDemo(Protocol):
    def __call__(
        self,
        *args: str,
        rows: int = 24,
        cols: int = 80,
        answer_queries: bool = True,
        ready: bool = True,
        **env: str | None,
    ) -> Terminal: ...


@pytest.fixture
def demo(terminal: OpenTerminal) -> OpenDemo:
    """`demo()`: the session, its input line ready."""

    def start(
        *args: str,
        rows: int = 24,
        cols: int = 80,
        answer_queries: bool = True,
        ready: bool = True,
        **env: str | None,
    ) -> Terminal:
        window = terminal(
            *(sys.executable, str(DEMO), *args),
            provider=None,
            rows=rows,
            cols=cols,
            answer_queries=answer_queries,
            **env,
        )
        if ready:
            window.wait_for(READY)
        return window

    return start
