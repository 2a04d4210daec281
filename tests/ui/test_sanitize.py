"""Nothing in a text acts on the terminal, however the text was cut into pieces."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.ui.sanitize import VisibleStream, json_safe, one_line, printable, visible

ATTACK = "a \x1b[2J \x1b]0;pwn\x07 b \x1b]52;c;ZXZpbA==\x07 \x1b[1A c"
DISARMED = "a ␛[2J ␛]0;pwn␇ b ␛]52;c;ZXZpbA==␇ ␛[1A c"


def test_r29_escape_sequences_become_visible_text() -> None:
    assert visible(ATTACK) == DISARMED
    assert printable(ATTACK) == DISARMED
    assert one_line(ATTACK) == DISARMED


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("tab\tand\nnewline", "tab\tand\nnewline"),
        ("dos\r\nlines\r\n", "dos\nlines\n"),
        ("a\rb", "a␍b"),
        ("\x00\x7f\x9b31m", "␀␡<U+009B>31m"),
        ("abc\u202ecba\u2066x", "abc<U+202E>cba<U+2066>x"),
        ("z\u200bero\ufeff \U000e0041tag", "zero tag"),
        ("one\u2028two", "one\ntwo"),
        ("lone \ud83d", "lone \ufffd"),
        ("👩\u200d🔧 ❤\ufe0f می\u200cخواهم", "👩\u200d🔧 ❤\ufe0f می\u200cخواهم"),
    ],
)
def test_what_a_screen_shows(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_pipe_gets_the_text_as_it_is_but_for_control_characters() -> None:
    assert (
        printable("a\u202eb \u200bc\u2028d [bold] 日本 \x9b")
        == "a\u202eb \u200bc\u2028d [bold] 日本 <U+009B>"
    )


@given(st.lists(st.text(alphabet=st.sampled_from("ab\r\n\x1b\x9b[\u202e"))))
def test_r29_pieces_make_no_difference(pieces: list[str]) -> None:
    stream = VisibleStream()
    assert "".join(map(stream.feed, pieces)) + stream.end() == visible("".join(pieces))


def test_json_keeps_its_value_and_acts_on_nothing() -> None:
    value = {"text": "\x9b31m \u202e \U000e0041 \x7f 日本"}
    line = json_safe(json.dumps(value, ensure_ascii=False))
    assert json.loads(line) == value
    assert not set(line) & set("\x9b\u202e\U000e0041\x7f")
    assert "日本" in line
