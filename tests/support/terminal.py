"""A program in a real pseudo-terminal, seen through a terminal emulator. Unix only."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyte

from support.process import found, kill_tree

LEADER = Path(__file__).with_name("_tty_leader.py")

END_MARK = b"\x1b]7777;the program has ended\x07"
"""Follows the last byte of the program; the emulator shows nothing of it."""

KEYS: Mapping[str, str] = {
    "enter": "\r",
    "tab": "\t",
    "esc": "\x1b",
    "backspace": "\x7f",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "delete": "\x1b[3~",
    "page-up": "\x1b[5~",
    "page-down": "\x1b[6~",
    "shift-tab": "\x1b[Z",
    "alt-enter": "\x1b\r",
    **{f"ctrl-{letter}": chr(ord(letter) - 96) for letter in "abcdefghijklmnopqrstuvwxyz"},
}


class _Emulator(pyte.HistoryScreen):
    """pyte's screen; it takes the private sequences that pyte's own handlers trip over."""

    def __init__(self, columns: int, lines: int, answer: Callable[[str], None]) -> None:
        self._answer = answer
        super().__init__(columns, lines, history=100_000)

    def write_process_input(self, data: str) -> None:
        self._answer(data)

    def report_device_status(self, mode: int = 0, **kwargs: Any) -> None:
        if not kwargs.get("private"):
            super().report_device_status(mode)

    def select_graphic_rendition(self, *attrs: int, **kwargs: Any) -> None:
        if not kwargs.get("private"):
            super().select_graphic_rendition(*attrs)


class Terminal:
    """A program as the foreground job of a terminal of its own.

    A thread reads what the program writes at all times, as a terminal does. The terminal answers queries for
    the cursor's position and the like, unless `answer_queries` is False.
    """

    def __init__(
        self,
        args: Sequence[str | Path],
        *,
        env: Mapping[str, str],
        rows: int = 24,
        cols: int = 80,
        cwd: Path | None = None,
        answer_queries: bool = True,
    ) -> None:
        words = [str(arg) for arg in args]
        words[0] = found(words[0], env)
        self._answers = answer_queries
        self._changed = threading.Condition(threading.RLock())
        self._raw = bytearray()
        self._emulator = _Emulator(cols, rows, self._answer)
        self._stream = pyte.ByteStream(self._emulator)
        self._code: int | None = None
        self._is_open = True
        self._master, slave = pty.openpty()
        self._set_size(rows, cols)
        status, status_end = os.pipe()
        control_end, self._control = os.pipe()
        self._stop, self._stop_end = os.pipe()
        # In isolated mode Python changes nothing in the environment, which goes to the program as it is.
        self._leader = subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", str(LEADER), str(status_end), str(control_end)),
                *(END_MARK.decode(), json.dumps(dict(env)), *words),
            ],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            pass_fds=(status_end, control_end),
            cwd=cwd,
            start_new_session=True,
        )
        for descriptor in (slave, status_end, control_end):
            os.close(descriptor)
        self._status = os.fdopen(status, "r", encoding="ascii")
        self.stty_at_start = self.stty()
        self.pid = int(self._status.readline())
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._waiter = threading.Thread(target=self._await_exit, daemon=True)
        self._reader.start()
        self._waiter.start()

    @property
    def raw(self) -> bytes:
        """Every byte the program has written."""
        with self._changed:
            return bytes(self._raw.replace(END_MARK, b""))

    @property
    def screen(self) -> list[str]:
        """The rows on the screen, without blanks at their ends."""
        with self._changed:
            return [row.rstrip() for row in self._emulator.display]

    @property
    def scrollback(self) -> list[str]:
        """The rows that have left the screen at the top."""
        with self._changed:
            columns = range(self._emulator.columns)
            rows = self._emulator.history.top
            return ["".join(row[column].data for column in columns).rstrip() for row in rows]

    @property
    def text(self) -> str:
        """Scrollback and screen; a line that wraps is several rows."""
        with self._changed:
            return "\n".join([*self.scrollback, *self.screen])

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column of the cursor, from 0."""
        with self._changed:
            return self._emulator.cursor.y, self._emulator.cursor.x

    @property
    def cursor_is_shown(self) -> bool:
        with self._changed:
            return not self._emulator.cursor.hidden

    def send(self, text: str | bytes) -> None:
        """Type this, as bytes that reach the program as they are."""
        data = text.encode() if isinstance(text, str) else text
        while data:
            data = data[os.write(self._master, data) :]

    def send_key(self, name: str) -> None:
        """Press a key: `ctrl-c`, `enter`, `up`, ... (see `KEYS`)."""
        self.send(KEYS[name])

    def paste(self, text: str) -> None:
        """Paste in brackets, as a terminal does when the program has asked for it."""
        self.send(f"\x1b[200~{text}\x1b[201~")

    def resize(self, rows: int, cols: int) -> None:
        """Change the window's size; the program gets SIGWINCH."""
        with self._changed:
            self._emulator.resize(rows, cols)
            self._set_size(rows, cols)

    def wait_for(self, wanted: str | Callable[[Terminal], bool], within: float = 10.0) -> None:
        """Block until screen or scrollback holds this text, or until `wanted(self)` is true."""

        def holds() -> bool:
            if callable(wanted):
                return wanted(self)
            # The rows with their blanks too, for a prompt that ends in one.
            return wanted in self.text or any(wanted in row for row in self._emulator.display)

        with self._changed:
            if not self._changed.wait_for(holds, within):
                ended = "" if self._code is None else f" (it has ended with {self._code})"
                raise AssertionError(f"not within {within:g} s{ended}: {wanted!r}; the screen:\n{self.text}")

    def wait_exit(self, within: float = 10.0) -> int:
        """Block until the program has ended and all it wrote is here; its code as a shell shows it."""
        with self._changed:
            self._changed.wait_for(self._is_over, within)
            if self._code is None or not self._is_over():
                raise AssertionError(f"still running after {within:g} s; the screen:\n{self.text}")
            return self._code

    def hang_up(self) -> None:
        """Close the terminal's window under the program."""
        self._stop_reading()
        os.close(self._master)
        with self._changed:
            self._is_open = False

    def stty(self) -> str:
        """The state of the terminal, as `stty -a` prints it."""
        listed = subprocess.run(
            ["stty", "-a"], stdin=self._master, capture_output=True, text=True, check=True
        )
        return listed.stdout

    def close(self) -> None:
        """Kill what is left of the program and close the terminal."""
        kill_tree(self.pid, alive=self._code is None)
        os.close(self._control)
        kill_tree(self._leader.pid, alive=self._leader.poll() is None)
        self._leader.wait(10)
        self._waiter.join(10)
        self._status.close()
        if self._is_open:
            self.hang_up()
        os.close(self._stop)
        os.close(self._stop_end)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _set_size(self, rows: int, cols: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def _answer(self, data: str) -> None:
        if self._answers:
            self.send(data)

    def _is_over(self) -> bool:
        return self._code is not None and (END_MARK in self._raw or not self._is_open)

    def _stop_reading(self) -> None:
        os.write(self._stop_end, b"x")
        self._reader.join(10)

    def _read(self) -> None:
        while True:
            ready, _, _ = select.select([self._master, self._stop], [], [])
            if self._stop in ready:
                return
            try:
                data = os.read(self._master, 65536)
            except OSError:  # nobody has the terminal open any more
                return
            with self._changed:
                self._raw += data
                self._stream.feed(data)
                self._changed.notify_all()

    def _await_exit(self) -> None:
        line = self._status.readline()
        with self._changed:
            # No line: the leader was killed, and the program with it.
            self._code = int(line) if line else 128 + signal.SIGKILL
            self._changed.notify_all()
