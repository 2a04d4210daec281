"""Output of any size and encoding in bounded memory."""

from __future__ import annotations

import pytest

from agent_chat.sandbox.capture import Capture, Captured


def captured(data: bytes, *, step: int, head: int = 10, tail: int = 5) -> Captured:
    capture = Capture(head, tail)
    for start in range(0, len(data), step):
        capture.feed(data[start : start + step])
    return capture.captured()


@pytest.mark.parametrize("step", [1, 2, 7, 100])
def test_what_fits_is_kept_whole(step: int) -> None:
    assert captured(b"0123456789abcde", step=step) == Captured("0123456789abcde", 15, 0)


@pytest.mark.parametrize("step", [1, 2, 7, 100])
def test_of_more_than_fits_head_and_tail_are_kept_and_the_rest_is_counted(step: int) -> None:
    result = captured(b"0123456789" + b"x" * 30 + b"abcde", step=step)
    assert result == Captured("0123456789\n[… 30 of 45 bytes left out …]\nabcde", 45, 30)


def test_a_character_that_is_cut_in_half_is_left_out_whole() -> None:
    data = b"012345678" + "é".encode() + b"x" * 10 + "日".encode() + b"abcd"
    result = captured(data, step=3)
    assert result.text == "012345678\n[… 15 of 28 bytes left out …]\nabcd"
    assert result.elided == 15


def test_a_complete_character_at_the_cut_stays() -> None:
    data = b"01234567" + "é".encode() + b"x" * 10 + "日".encode() + b"ab"
    assert captured(data, step=100).text == "01234567é\n[… 10 of 25 bytes left out …]\n日ab"


def test_bytes_that_are_no_text_become_marks() -> None:
    assert captured(b"a\xff\xfe\x00b", step=2).text == "a\ufffd\ufffd\ufffdb"


def test_a_character_that_comes_in_two_pieces_is_one() -> None:
    assert captured("日本".encode(), step=1).text == "日本"
