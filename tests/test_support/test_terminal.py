"""The terminal harness, on small programs in Python."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

from support.process import clean_env, tree, wait_gone, wait_until
from support.terminal import Terminal


class Start(Protocol):
    def __call__(
        self, code: str, rows: int = 24, cols: int = 80, *, answer_queries: bool = True
    ) -> Terminal: ...


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    with ExitStack() as stack:

        def begin(code: str, rows: int = 24, cols: int = 80, *, answer_queries: bool = True) -> Terminal:
            args = [sys.executable, "-c", code]
            env = clean_env(home, TERM="xterm-256color", MARK="caf\udce9")
            return stack.enter_context(
                Terminal(args, env=env, rows=rows, cols=cols, answer_queries=answer_queries)
            )

        yield begin


def test_typing_and_reading(start: Start) -> None:
    terminal = start("print('hello', input('name? '))")
    terminal.wait_for("name? ")
    assert terminal.screen[0] == "name?"
    terminal.send("Zoë")
    terminal.send_key("enter")
    assert terminal.wait_exit() == 0
    assert terminal.screen[:2] == ["name? Zoë", "hello Zoë"]
    assert terminal.raw.endswith("hello Zoë\r\n".encode())


def test_the_program_has_a_terminal_of_its_own(start: Start) -> None:
    code = (
        "import os, sys; print(sys.stdin.isatty(), os.get_terminal_size(), os.tcgetpgrp(0) == os.getpgrp(),"
        " open('/dev/tty').isatty(), ascii(os.environ['MARK']), 'LC_CTYPE' in os.environ)"
    )
    terminal = start(code, rows=10, cols=100)
    assert terminal.wait_exit() == 0
    expected = "True os.terminal_size(columns=100, lines=10) True True 'caf\\udce9' False"
    assert terminal.screen[0] == expected


def test_ctrl_c_reaches_the_foreground_program(start: Start) -> None:
    terminal = start(
        "import time, sys\ntry: print('up'); time.sleep(60)\nexcept KeyboardInterrupt: sys.exit(130)"
    )
    terminal.wait_for("up")
    terminal.send_key("ctrl-c")
    assert terminal.wait_exit() == 130


def test_death_by_a_signal_is_shown_as_a_shell_shows_it(start: Start) -> None:
    assert start("import os; os.kill(os.getpid(), 9)").wait_exit() == 137


def test_what_left_the_screen_is_in_the_scrollback(start: Start) -> None:
    terminal = start("for i in range(500): print(f'line {i} 日本')", rows=5)
    terminal.wait_exit()
    assert terminal.scrollback + terminal.screen == [*(f"line {i} 日本" for i in range(500)), ""]
    assert len(terminal.screen) == 5


def test_every_byte_is_kept_when_the_program_ends_at_once(start: Start) -> None:
    terminal = start("import sys; sys.stdout.write('x' * 50_000)")
    terminal.wait_exit()
    assert terminal.raw == b"x" * 50_000


ASK_POSITION = """
import os, select, termios, tty
state = termios.tcgetattr(0)
tty.setraw(0)
os.write(1, b'\\x1b[3;7H\\x1b[6n')
ready = select.select([0], [], [], %s)[0]
answer = os.read(0, 100) if ready else b'none'
termios.tcsetattr(0, termios.TCSADRAIN, state)
print(repr(answer))
"""


def test_a_query_for_the_cursor_is_answered(start: Start) -> None:
    terminal = start(ASK_POSITION % 10)
    terminal.wait_exit()
    assert r"b'\x1b[3;7R'" in terminal.text


def test_a_terminal_can_be_silent(start: Start) -> None:
    terminal = start(ASK_POSITION % 0.2, answer_queries=False)
    terminal.wait_exit()
    assert "b'none'" in terminal.text


def test_private_sequences_do_not_disturb_the_emulator(start: Start) -> None:
    terminal = start(r"print('\x1b[>4;2m\x1b[?6n\x1b[?2004h\x1b]0;title\x07a\x1b[?25lb')")
    terminal.wait_exit()
    assert terminal.screen[0] == "ab"
    assert not terminal.cursor_is_shown
    assert b"\x1b[?2004h" in terminal.raw


def test_the_state_a_program_leaves_the_terminal_in_is_seen(start: Start) -> None:
    clean = start("pass")
    clean.wait_exit()
    assert clean.stty() == clean.stty_at_start
    dirty = start("import tty; tty.setraw(0)")
    dirty.wait_exit()
    assert dirty.stty() != dirty.stty_at_start


def test_resizing_tells_the_program(start: Start) -> None:
    code = (
        "import os, signal\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])\n"
        "print('up'); signal.sigwait([signal.SIGWINCH]); print(os.get_terminal_size())"
    )
    terminal = start(code)
    terminal.wait_for("up")
    terminal.resize(30, 40)
    terminal.wait_exit()
    assert "columns=40, lines=30" in terminal.text
    assert len(terminal.screen) == 30


def test_a_hang_up_reaches_the_program(start: Start) -> None:
    terminal = start("import time; print('up'); time.sleep(60)")
    terminal.wait_for("up")
    terminal.hang_up()
    assert terminal.wait_exit() == 129


def test_waiting_is_bounded_and_shows_the_screen(start: Start) -> None:
    terminal = start("print('shown'); input()")
    terminal.wait_for(lambda seen: seen.cursor == (1, 0))
    with pytest.raises(AssertionError, match=r"not within 0.05 s: 'never'; the screen:\nshown"):
        terminal.wait_for("never", 0.05)
    with pytest.raises(AssertionError, match=r"still running after 0.05 s"):
        terminal.wait_exit(0.05)


def test_closing_kills_the_tree(home: Path) -> None:
    code = "import subprocess; subprocess.run(['sh', '-c', 'trap \"\" HUP TERM; sleep 60 & wait'])"
    with Terminal([sys.executable, "-c", code], env=clean_env(home)) as terminal:
        wait_until(lambda: len(tree(terminal.pid)) == 2, "the shell has started its child")
        pids = [terminal.pid, *tree(terminal.pid)]
    wait_gone(pids)
