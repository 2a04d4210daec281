"""One answer on a terminal, and a chat on a terminal that takes no escape sequences."""

from __future__ import annotations

import os
import re
import signal

from .conftest import OpenDemo


def test_r30_a_long_answer_is_there_once_and_in_order(demo: OpenDemo) -> None:
    window = demo("single", "long", rows=10, ready=False)
    window.wait_for("line 20")
    assert "line 59" not in window.text
    assert window.wait_exit() == 0
    assert [int(match) for match in re.findall(r"line (\d\d)", window.text)] == list(range(60))
    assert "1 iteration | 10 tokens in" in window.text
    assert b"\x1b[2J" not in window.raw
    assert window.raw.rfind(b"\x1b[?7h") >= window.raw.rfind(b"\x1b[?7l")


def test_r17_a_broken_attempt_is_marked_or_wiped(demo: OpenDemo) -> None:
    window = demo("single", "break it", ready=False)
    assert window.wait_exit() == 0
    lines = window.text.splitlines()
    assert lines.index("one") < lines.index("warning: The line above is discarded.") < lines.index("whole.")
    assert "two wor" not in window.text


def test_r11_what_was_shown_stays_when_it_is_interrupted(demo: OpenDemo) -> None:
    window = demo("single", "parts", ready=False)
    window.wait_for(lambda w: w.text.count("part") >= 15)
    os.kill(window.pid, signal.SIGINT)
    assert window.wait_exit() == 130
    assert window.text.count("part") == 20


def test_r29_the_terminal_is_not_controlled_by_text(demo: OpenDemo) -> None:
    window = demo("single", "attack", ready=False)
    assert window.wait_exit() == 0
    assert "a ␛[2J ␛]0;pwn␇ b ␛]52;c;ZXZpbA==␇ ␛[1A c" in window.text
    for sequence in (b"\x1b[2J", b"\x1b]0;", b"\x1b]52;", b"\x07"):
        assert sequence not in window.raw


def test_r33_a_dumb_terminal_gets_no_escape_character(demo: OpenDemo) -> None:
    window = demo(TERM="dumb", ready=False)
    window.wait_for(">")
    window.send("hello\r")
    window.wait_for("heard 'hello'")
    window.send("attack\r")
    window.wait_for("a ␛[2J ␛]0;pwn␇ b")
    window.send('call ask_user {"question": "Which?"}\r')
    window.wait_for("? Which?")
    window.send("this\r")
    window.wait_for("the tool said this")
    window.send("/cost\r")
    window.wait_for("This session:")
    window.send_key("ctrl-d")
    assert window.wait_exit() == 0
    assert b"\x1b" not in window.raw
    assert window.stty() == window.stty_at_start


def test_r33_r37_ctrl_c_on_a_dumb_terminal(demo: OpenDemo) -> None:
    window = demo(TERM="dumb", ready=False)
    window.wait_for(">")
    window.send("hang\r")
    window.wait_for("> hang")
    window.wait_for(lambda w: b"hang\r\n" in w.raw)
    window.send_key("ctrl-c")
    window.wait_for("Ctrl-C again leaves.")
    window.send_key("ctrl-c")
    assert window.wait_exit() == 130
