"""Credentials never reach a message."""

from __future__ import annotations

import pytest

from agent_chat.models.mask import MASK, mask


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-TEST456.",
        "https://host/path?key=AIzaTESTKEY123&alt=sse",
        "Authorization: Bearer sk-TEST456",
        '{"authorization": "Bearer abcdef123456"}',
        "api_key='abcdef123456'",
        "x-api-key: abcdef123456",
        "gsk_abcdef123456 and xai-abcdef123456",
        "sk-ant-api03-abc_def-456",
    ],
)
def test_r46_what_looks_like_a_key_is_masked(text: str) -> None:
    masked = mask(text)
    assert MASK in masked
    for secret in ("TEST", "abcdef", "abc_def"):
        assert secret not in masked


def test_r46_the_rest_of_the_message_stays() -> None:
    assert mask("HTTP 400: bad key=AIzaTESTKEY123 at ?key=AIzaTESTKEY123&x=1, sorry") == (
        f"HTTP 400: bad key={MASK} at ?key={MASK}&x=1, sorry"
    )


def test_r46_the_very_keys_in_use_are_masked_whatever_they_look_like() -> None:
    assert mask("who is correct-horse?", ["correct-horse"]) == f"who is {MASK}?"


@pytest.mark.parametrize(
    "text", ["the task-force met", "no api key given", "bearer of news", "max_tokens: 100000"]
)
def test_ordinary_words_stay(text: str) -> None:
    assert mask(text, ["", "abc"]) == text
