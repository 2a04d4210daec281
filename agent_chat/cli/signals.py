"""Signals as interrupts: the turn ends with a valid history, and the exit code tells which signal it was."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager

from agent_chat.cli.exit_codes import ExitCode
from agent_chat.core.outcome import CancelReason

_CODES: dict[str, ExitCode] = {
    "SIGHUP": ExitCode.HANGUP,
    "SIGINT": ExitCode.INTERRUPTED,
    "SIGTERM": ExitCode.TERMINATED,
}


class Signals:
    """What came so far. `code` is None until a signal came that ends the program.

    `leave_on_interrupt`: Ctrl-C does so even where it stops a turn; false where a person can go on.
    """

    def __init__(self, *, leave_on_interrupt: bool = True) -> None:
        self.code: ExitCode | None = None
        self._leave_on_interrupt = leave_on_interrupt

    @contextmanager
    def handled(self, interrupt: Callable[[CancelReason], bool]) -> Generator[None]:
        """Inside, a signal interrupts the turn that runs; else, or the second time, the current task."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()

        def received(name: str) -> None:
            reason: CancelReason = "interrupted" if name == "SIGINT" else "terminated"
            stopped = self.code is None and interrupt(reason)
            if stopped and name == "SIGINT" and not self._leave_on_interrupt:
                return
            self.code = _CODES[name]
            if not stopped and task is not None:
                task.cancel()

        handled = [name for name in _CODES if hasattr(signal, name) and self._handle(loop, name, received)]
        try:
            yield
        finally:
            for name in handled:
                loop.remove_signal_handler(getattr(signal, name))

    def _handle(self, loop: asyncio.AbstractEventLoop, name: str, received: Callable[[str], None]) -> bool:
        try:
            loop.add_signal_handler(getattr(signal, name), received, name)
        except (NotImplementedError, RuntimeError):
            return False  # on Windows Ctrl-C raises KeyboardInterrupt instead
        return True
