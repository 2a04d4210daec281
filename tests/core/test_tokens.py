"""The estimate of tokens, and the running count of what a request takes."""

from __future__ import annotations

import pytest

from agent_chat.core.context_events import ContextThinned
from agent_chat.core.events import ModelReplied, Rewound, SessionStarted, ToolFinished, TurnStarted, UserSaid
from agent_chat.core.model import Usage
from agent_chat.core.tokens import PER_MESSAGE, WindowMeter, estimate


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("The quick brown fox jumps over the lazy dog.", 9, 14),
        ("def add(a: int, b: int) -> int:\n    return a + b\n", 12, 20),
        ("Съешь же ещё этих мягких французских булок", 15, 30),
        ("敏捷的棕色狐狸跳过了懒狗", 8, 14),
        ("👍🏽 done", 3, 8),
    ],
)  # fmt: skip
def test_a_text_is_about_so_many_tokens(text: str, least: int, most: int) -> None:
    assert least <= estimate(text) <= most


def test_a_lone_surrogate_is_counted_like_any_other_character() -> None:
    assert estimate("\ud800") >= 0


def replied(usage: Usage | None, text: str = "ok") -> ModelReplied:
    return ModelReplied(
        model="m", text=text, finish_reason="stop", usage=usage, cost_usd=None, duration_s=0.0
    )


def finished(content: str) -> ToolFinished:
    return ToolFinished(call_id="c", name="t", ok=True, content=content, size=len(content), duration_s=0.0)


def test_what_the_provider_counted_replaces_the_estimate() -> None:
    meter = WindowMeter()
    meter.apply(SessionStarted(program_version="0", workspace="", system="x" * 400, model="m", tools=()))
    meter.apply(UserSaid(text="y" * 40))
    assert (meter.tokens, meter.told) == (100 + 10 + 2 * PER_MESSAGE, False)
    meter.apply(replied(Usage(prompt=1_000, completion=50, reasoning=20)))
    assert (meter.tokens, meter.told) == (1_030, True)
    meter.apply(finished("z" * 400))
    assert meter.tokens == 1_130 + PER_MESSAGE


def test_without_a_count_the_estimate_grows() -> None:
    meter = WindowMeter()
    meter.apply(replied(None, "x" * 400))
    meter.apply(replied(Usage(), "x" * 400))
    assert (meter.tokens, meter.told) == (2 * (100 + PER_MESSAGE), False)


def test_a_pass_over_the_messages_says_what_is_left() -> None:
    meter = WindowMeter()
    meter.apply(replied(Usage(prompt=9_000)))
    meter.apply(ContextThinned(results=(), limit=10, tokens=4_000))
    assert meter.tokens == 4_000


def test_turns_that_are_taken_back_take_nothing() -> None:
    meter = WindowMeter()
    for prompt in (1_000, 2_000, 3_000):
        meter.apply(TurnStarted())
        meter.apply(replied(Usage(prompt=prompt)))
    meter.apply(Rewound(to_turn=2, turns=2))
    assert meter.tokens == 1_000
    meter.apply(Rewound(to_turn=1, turns=1))
    assert meter.tokens == 0
