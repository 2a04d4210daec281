"""What a person sees."""

from __future__ import annotations

import re

from support.terminal import Terminal
from wcwidth import wcwidth

from .conftest import READY, OpenDemo


def rows(window: Terminal) -> list[str]:
    return window.text.splitlines()


def test_r30_an_answer_taller_than_the_screen_is_there_once_and_in_order(demo: OpenDemo) -> None:
    window = demo(rows=10)
    window.send("long\r")
    window.wait_for("line 20")
    assert "line 59" not in window.text
    window.wait_for("1 iteration |")
    window.wait_for(READY)
    seen = [int(match) for match in re.findall(r"line (\d\d)", window.text)]
    assert seen == list(range(60))
    assert b"\x1b[2J" not in window.raw
    assert b"\x1b[3J" not in window.raw
    assert b"\x1b[?1049h" not in window.raw


def test_r17_a_broken_attempt_is_marked_or_wiped(demo: OpenDemo) -> None:
    window = demo()
    window.send("break now\r")
    window.wait_for("1 iteration |")
    text = window.text
    assert text.index("\none\n") < text.index("The line above is discarded.") < text.index("\nwhole.\n")
    assert "two wor" not in text
    assert "connection lost" in text


def test_r28_brackets_are_shown_literally(demo: OpenDemo) -> None:
    window = demo()
    window.send("markup\r")
    window.wait_for("see [/INST] [bold]x[/bold] [link=http://e]y[/link] [/] [red")


def test_r29_the_terminal_is_not_controlled_by_text(demo: OpenDemo) -> None:
    window = demo()
    window.send("attack\r")
    window.wait_for("a ␛[2J ␛]0;pwn␇ b ␛]52;c;ZXZpbA==␇ ␛[1A c")
    window.send("call read_file\r")
    window.wait_for("read_file (0.0 s): a ␛[2J ␛]0;pwn␇ b")
    for sequence in (b"\x1b[2J", b"\x1b]0;", b"\x1b]52;", b"\x1b[1A", b"\x07"):
        assert sequence not in window.raw


def test_r31_layout_is_measured_in_cells(demo: OpenDemo) -> None:
    window = demo(cols=40)
    window.send("wide\r")
    window.wait_for("cost unknown")
    text = window.text
    table = [row for row in rows(window) if row.startswith(("┌", "│", "├", "└"))]
    assert len({cells(row) for row in table}) == 1
    assert cells(table[0]) <= 40
    assert all(word in text for word in ("日", "本", "語", "テ", "ス", "ト", "👩", "🔧", "مرحبا", "界"))
    assert text.count("w") >= 500
    assert text.count("v") >= 500


def cells(row: str) -> int:
    """The columns that a row of the emulator takes."""
    return sum(max(0, wcwidth(char)) for char in row)


def test_r31_a_wide_character_can_be_deleted(demo: OpenDemo) -> None:
    window = demo(cols=40)
    window.send("界")
    window.wait_for("> 界")
    window.send_key("backspace")
    window.send("x\r")
    window.wait_for("heard 'x'")


def test_r32_a_notice_while_typing_disturbs_neither(demo: OpenDemo) -> None:
    window = demo()
    window.send("call notify\r")
    window.wait_for("the tool said soon")
    window.wait_for(READY)
    window.send("half")
    window.wait_for("warning: a server failed")
    window.wait_for("> half")
    assert window.text.index("a server failed") < window.text.index("> half")
    window.send(" done\r")
    window.wait_for("heard 'half done'")
    assert "?[" not in window.text
    assert "^[" not in window.text


def test_r33_a_terminal_that_answers_no_query_and_one_that_answers_late(demo: OpenDemo) -> None:
    window = demo(TERM="xterm", answer_queries=False)
    window.send("first\r")
    window.wait_for("heard 'first'")
    window.send("h\x1b[45;1Ri\x1b[1;1R\r")
    window.wait_for("heard 'hi'", within=3)
    assert "CPR" not in window.text
    assert b"\x1b[6n" not in window.raw
    assert window.text.count(READY) == 1


def test_r33_no_color(demo: OpenDemo) -> None:
    window = demo(NO_COLOR="1")
    window.send("attack\r")
    window.wait_for("1 iteration |")
    window.send("/nothing\r")
    window.wait_for("There is no command")
    codes = re.findall(rb"\x1b\[([\d;]*)m", window.raw)
    assert codes
    assert not [code for code in codes if re.search(rb"(^|;)([34]\d|9\d|10\d)(;|$)", code)]


def test_r13_a_failed_turn_keeps_the_message_and_says_so(demo: OpenDemo) -> None:
    window = demo()
    window.send("fail\r")
    window.wait_for("Failed (model_unavailable): demo: busy")
    window.wait_for("Your message is kept")
    window.send("hello\r")
    window.wait_for("Failed (model_unavailable)")


def test_an_unknown_command_is_not_sent(demo: OpenDemo) -> None:
    window = demo()
    window.send("/hlep\r")
    window.wait_for("There is no command /hlep. Did you mean /help?")
    assert "iteration" not in window.text


def test_the_window_can_change_its_size(demo: OpenDemo) -> None:
    window = demo()
    window.send("hello\r")
    window.wait_for("heard 'hello'")
    window.resize(12, 60)
    window.send("again\r")
    window.wait_for("heard 'again'")
    window.wait_for(READY)
