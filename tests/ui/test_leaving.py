"""What Ctrl-C means, in the order in which it is pressed."""

from __future__ import annotations

from agent_chat.ui.leaving import InterruptKey


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_r37_it_clears_then_leaves() -> None:
    key = InterruptKey(Clock())
    assert key.press(typed=True, running=False) == "clear"
    assert key.press(typed=False, running=False) == "leave"


def test_r37_it_clears_then_stops_the_turn_then_leaves() -> None:
    key = InterruptKey(Clock())
    assert key.press(typed=True, running=True) == "clear"
    assert key.press(typed=False, running=True) == "stop"
    assert key.press(typed=False, running=True) == "leave"


def test_r37_a_second_press_after_two_seconds_is_a_first_one() -> None:
    clock = Clock()
    key = InterruptKey(clock)
    assert key.press(typed=False, running=False) == "hint"
    clock.now = 2.1
    assert key.press(typed=False, running=False) == "hint"
    clock.now = 4.0
    assert key.press(typed=False, running=False) == "leave"
