"""What the keys do, and the state in which the terminal is left."""

from __future__ import annotations

import os
import signal
import stat
import time
from pathlib import Path

import pytest
from support.terminal import Terminal

from .conftest import READY, OpenDemo


def assert_restored(window: Terminal) -> None:
    assert window.stty() == window.stty_at_start
    assert window.cursor_is_shown
    assert window.raw.rfind(b"\x1b[?25h") > window.raw.rfind(b"\x1b[?25l")
    assert window.raw.rfind(b"\x1b[?2004l") > window.raw.rfind(b"\x1b[?2004h")
    assert window.raw.rfind(b"\x1b[?7h") > window.raw.rfind(b"\x1b[?7l")


def test_r37_ctrl_c_clears_the_line_with_a_hint_and_the_second_leaves_with_130(demo: OpenDemo) -> None:
    window = demo()
    window.send("half")
    window.wait_for("> half")
    window.send_key("ctrl-c")
    window.wait_for("Cleared. Ctrl-C again leaves.")
    assert "> half" not in window.text
    window.send_key("ctrl-c")
    assert window.wait_exit() == 130
    assert_restored(window)


def test_r37_ctrl_c_twice_on_an_empty_line_leaves_with_130(demo: OpenDemo) -> None:
    window = demo()
    window.send_key("ctrl-c")
    window.wait_for("Ctrl-C again leaves.")
    window.send_key("ctrl-c")
    assert window.wait_exit() == 130
    assert_restored(window)


def test_r37_ctrl_d_on_an_empty_line_leaves_with_0(demo: OpenDemo) -> None:
    window = demo()
    window.send_key("ctrl-d")
    assert window.wait_exit() == 0
    assert_restored(window)


def test_r37_ctrl_c_during_silence_brings_the_prompt_back_and_twice_leaves(demo: OpenDemo) -> None:
    window = demo()
    window.send("hang\r")
    window.wait_for("asking demo")
    began = time.monotonic()
    window.send_key("ctrl-c")
    window.wait_for("Interrupted by the user.")
    window.wait_for(lambda w: "asking demo" not in w.text)
    assert time.monotonic() - began < 1
    window.send_key("ctrl-c")
    assert window.wait_exit() == 130
    assert_restored(window)


def test_r37_an_internal_error_leaves_the_terminal_as_it_was(demo: OpenDemo) -> None:
    window = demo("crash", ready=False)
    assert window.wait_exit() == 1
    assert_restored(window)


def test_r37_a_bug_in_a_callback_is_said_above_the_line_and_nothing_else_breaks(demo: OpenDemo) -> None:
    window = demo()
    window.send("call bug\r")
    window.wait_for("Internal error: ZeroDivisionError")
    window.send("hello\r")
    window.wait_for("heard 'hello'")
    assert "Traceback" not in window.text
    window.send_key("ctrl-d")
    assert window.wait_exit() == 0
    assert_restored(window)


@pytest.mark.parametrize("during", ["", "hang\r"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_r37_a_signal_to_end_restores_the_terminal(
    demo: OpenDemo, during: str, number: signal.Signals
) -> None:
    window = demo()
    if during:
        window.send(during)
        window.wait_for("asking demo")
    os.kill(window.pid, number)
    assert window.wait_exit() == 128 + number
    assert_restored(window)


def test_r09_a_real_sigint_stops_the_tools_and_the_chat_goes_on(demo: OpenDemo) -> None:
    window = demo()
    window.send('call nap {"seconds": 30}\r')
    window.wait_for("running nap")
    began = time.monotonic()
    os.kill(window.pid, signal.SIGINT)
    window.wait_for("Interrupted by the user.")
    assert time.monotonic() - began < 2
    window.send("hello\r")
    window.wait_for("heard 'hello'")


def test_r11_text_that_was_shown_stays_when_the_answer_is_interrupted(demo: OpenDemo) -> None:
    window = demo()
    window.send("parts\r")
    window.wait_for(lambda w: w.text.count("part ") >= 15)
    window.send_key("esc")
    window.wait_for("Interrupted by the user.")
    window.wait_for(READY)
    assert " ".join(window.text.split()).count("part") == 21  # the message and its 20 parts
    window.send("continue\r")
    window.wait_for("heard 'continue'")


def test_r38_a_paste_is_one_message(demo: OpenDemo) -> None:
    window = demo()
    window.paste("l1\nl2\r\nl3")
    window.wait_for("  l3")
    assert "heard" not in window.text
    window.send_key("enter")
    window.wait_for(r"heard 'l1\nl2\nl3'")
    assert window.text.count("heard") == 1


def test_new_lines_by_keys(demo: OpenDemo) -> None:
    window = demo()
    window.send("a")
    window.send_key("alt-enter")
    window.send("b")
    window.send_key("ctrl-j")
    window.send("c")
    window.send_key("enter")
    window.wait_for(r"heard 'a\nb\nc'")


def test_enter_queues_while_a_turn_runs_and_escape_stops_it(demo: OpenDemo) -> None:
    window = demo()
    window.send("hang\r")
    window.wait_for("asking demo")
    window.send("second\r")
    window.wait_for("queued: second")
    assert "heard" not in window.text
    window.send_key("esc")
    window.wait_for(r"heard 'hang\n\nsecond'")
    window.wait_for(READY)
    assert "queued" not in window.text


def test_ctrl_s_steers_the_turn_that_runs(demo: OpenDemo) -> None:
    window = demo()
    window.send('call nap {"seconds": 0.5}\r')
    window.wait_for("running nap")
    window.send("faster")
    window.send_key("ctrl-s")
    window.wait_for("> faster")
    window.wait_for("heard 'faster'")
    assert "steering:" not in window.text


def test_steering_that_comes_too_late_is_said(demo: OpenDemo) -> None:
    window = demo()
    window.send("hang\r")
    window.wait_for("asking demo")
    window.send("late")
    window.send_key("ctrl-s")
    window.wait_for("steering: late")
    window.send_key("esc")
    window.wait_for("came too late for this turn")


def test_history_is_private_and_comes_back(demo: OpenDemo, home: Path) -> None:
    window = demo()
    window.send("remember me\r")
    window.wait_for("heard 'remember me'")
    window.send_key("ctrl-d")
    assert window.wait_exit() == 0
    assert stat.S_IMODE((home / "history").stat().st_mode) == 0o600
    again = demo()
    again.send_key("up")
    again.wait_for("> remember me")
    again.send_key("ctrl-c")
    again.send_key("ctrl-r")
    again.send("emem")
    again.wait_for("I-search backward: emem")
    again.send("\r\r")
    again.wait_for("heard 'remember me'")


def test_a_history_that_cannot_be_written_is_none(demo: OpenDemo, home: Path) -> None:
    (home / "history").mkdir()
    window = demo()
    window.send("hello\r")
    window.wait_for("heard 'hello'")
    window.send("again\r")
    window.wait_for("heard 'again'")


def test_tab_completes_a_command(demo: OpenDemo) -> None:
    window = demo()
    window.send("/cos\t")
    window.wait_for("> /cost")
    window.send("\r")
    window.wait_for("This session: 0 iterations")


def test_an_external_editor_writes_the_message(demo: OpenDemo, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "from the editor" > "$1"\n')
    editor.chmod(0o755)
    window = demo(EDITOR=str(editor), VISUAL=None)
    window.send_key("ctrl-x")
    window.send_key("ctrl-e")
    window.wait_for("> from the editor")
    window.send("\r")
    window.wait_for("heard 'from the editor'")


def test_a_question_is_answered_by_what_is_typed_after_it(demo: OpenDemo) -> None:
    window = demo()
    window.send('call ask_user {"question": "Which [red] one?"}')
    window.send("\r")
    window.wait_for("? Which [red] one?")
    window.wait_for("Enter answers")
    window.send("the blue one\r")
    window.wait_for("the tool said the blue one")


def test_what_was_half_typed_before_a_question_is_no_answer_and_comes_back(demo: OpenDemo) -> None:
    window = demo()
    window.send('call ask_user {"question": "Which?", "after": 0.5}\r')
    window.wait_for("running ask_user")
    window.send("half")
    window.wait_for("> half")
    window.wait_for("Enter answers")
    assert "half" not in window.text
    window.send("this\r")
    window.wait_for("the tool said this")
    window.wait_for("> half")


def test_a_question_may_go_unanswered(demo: OpenDemo) -> None:
    window = demo()
    window.send('call ask_user {"question": "Which?"}\r')
    window.wait_for("Enter answers")
    window.send_key("ctrl-d")
    window.wait_for("the tool said Error: no answer")


def test_escape_at_a_question_stops_the_turn(demo: OpenDemo) -> None:
    window = demo()
    window.send('call ask_user {"question": "Which?"}\r')
    window.wait_for("Enter answers")
    window.send_key("esc")
    window.wait_for("Interrupted by the user.")
    window.wait_for(READY)


def test_another_session_can_take_this_ones_place(demo: OpenDemo) -> None:
    window = demo()
    window.send("hello\r")
    window.wait_for("heard 'hello'")
    window.send("/resume ab12\r")
    window.wait_for("session ab12")
    window.send("there?\r")
    window.wait_for("heard 'there?'")
    window.send("/exit\r")
    assert window.wait_exit() == 0
    assert_restored(window)
