from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.core.observation import excerpt
from agent_chat.core.text import storable


@given(st.text(max_size=400), st.integers(min_value=3, max_value=100))
def test_an_excerpt_keeps_head_and_tail_and_says_how_much_is_left_out(text: str, limit: int) -> None:
    part = excerpt(text, limit)
    if len(text) <= limit:
        assert (part.text, part.elided) == (text, 0)
        return
    head = limit * 2 // 3
    assert part.elided == len(text) - limit
    assert part.text.startswith(text[:head])
    assert part.text.endswith(text[-(limit - head) :])
    assert f"{part.elided:,}" in part.text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("plain", "plain"),
        ("é 日本 🧑", "é 日本 🧑"),
        ("a\ud800b", "a\ufffdb"),
        ("\ud83d\ude00", "😀"),
    ],
)
def test_only_what_cannot_be_stored_is_replaced(text: str, kept: str) -> None:
    assert storable(text) == kept
