"""What Ctrl-C means: it clears the line, then stops the turn, and twice in a row leaves."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

AGAIN = 2.0
"""Seconds within which a second press leaves."""

Meaning = Literal["clear", "stop", "hint", "leave"]


class InterruptKey:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pressed_at = float("-inf")

    def press(self, *, typed: bool, running: bool) -> Meaning:
        """`typed`: there is text on the line. `running`: a turn runs."""
        now = self._clock()
        if typed:
            # While a turn runs the next press is to stop it, not to leave.
            self._pressed_at = float("-inf") if running else now
            return "clear"
        again = now - self._pressed_at <= AGAIN
        self._pressed_at = now
        if again:
            return "leave"
        return "stop" if running else "hint"
