"""A session on a terminal. prompt-toolkit owns the screen from first to last; there is no alternate screen.

What is finished is printed once above the input line and belongs to the terminal from then on. Nothing
heavy is imported here: the input line stands before the rest of the program is loaded.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TextIO

from agent_chat.ui.keyboard import InputLine, open_output
from agent_chat.ui.leaving import AGAIN, InterruptKey
from agent_chat.ui.sanitize import one_line, visible
from agent_chat.ui.screen import Screen, warm
from agent_chat.ui.shown import Note, Verbosity

if TYPE_CHECKING:
    from agent_chat.core.events import Entry, LeaveReason
    from agent_chat.core.model import Delta
    from agent_chat.core.outcome import CancelReason
    from agent_chat.core.ports import Compact, Leave, UserInput
    from agent_chat.ui.commands import Commands, Reaction
    from agent_chat.ui.shown import Shown

SHOWN_QUEUE = 3
SIGNALS = (signal.SIGTERM, signal.SIGHUP) if sys.platform != "win32" else ()


class Turns(Protocol):
    """What the keys may do to the turn that runs."""

    def interrupt(self, reason: CancelReason = "interrupted") -> bool:
        """Stops it. False where none runs."""
        ...

    def steer(self, text: str) -> None:
        """Says something to it, which the model hears before its next iteration."""
        ...


class TerminalFace:
    """An `EventSink` and an `InputSource`; an async context manager that holds the terminal while inside.

    `connect` gives it the session; what is typed before that waits. Everything is called from the
    event loop. SIGTERM and SIGHUP stop the turn and make `next` end the session; `signal` tells which came.
    """

    def __init__(
        self,
        *,
        stdin: TextIO,
        stdout: TextIO,
        term: str,
        color: bool,
        history: Path | None = None,
        verbosity: Verbosity = "normal",
    ) -> None:
        self.signal: signal.Signals | None = None
        """The signal that told the program to end."""
        self._output = open_output(stdout, term)
        self._line = InputLine(
            self,
            stdin=stdin,
            output=self._output,
            color=color,
            history=history,
            command_names=lambda: self._commands.names if self._commands else (),
            footer=self._footer,
        )
        self._screen = Screen(
            self._line, self._output, stdout, color=color, verbosity=verbosity, below=self._below
        )
        self._turns: Turns | None = None
        self._commands: Commands | None = None
        self._task: asyncio.Task[None] | None = None
        self._queue: deque[str] = deque()
        self._steered: list[str] = []
        """Said to the turn that runs, not yet heard."""
        self._left: LeaveReason | None = None
        self._changed = asyncio.Event()
        """Set when there is something for `next` to look at."""
        self._running = False
        self._turn_began = 0.0
        self._answer: asyncio.Future[str | None] | None = None
        self._asking = asyncio.Lock()
        self._interrupt_key = InterruptKey()
        self._hint = ""
        self._tick: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        """Returns when the input line stands."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._terminate, number)
        loop.set_exception_handler(self._report)
        self._task = asyncio.create_task(self._line.app.run_async(set_exception_handler=False))
        self._task.add_done_callback(self._app_ended)
        await self._line.drawn.wait()
        threading.Thread(target=warm, daemon=True).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(None)
        if self._tick is not None:
            self._tick.cancel()
        self._screen.close()
        self._output.closing = True
        if self._line.app.is_running:
            self._line.app.exit()
        try:
            if self._task is not None:
                with contextlib.suppress(EOFError, OSError):  # the terminal is gone
                    await self._task
        finally:
            self._screen.print_rest()
            for number in SIGNALS:
                loop.remove_signal_handler(number)

    def configure(self, *, color: bool, verbosity: Verbosity) -> None:
        """For settings that are read when the input line stands already; before anything was shown."""
        self._line.color = color
        self._screen.configure(color=color, verbosity=verbosity)

    def connect(self, turns: Turns, commands: Commands) -> None:
        """Before the session's first turn; again when another session takes its place."""
        self._turns = turns
        self._commands = commands

    # EventSink

    async def emit(self, entry: Entry) -> None:
        for shown in self._screen.view.entry(entry):
            self._screen.add(shown)
            self._notice_turn(shown)

    def show(self, delta: Delta) -> None:
        for shown in self._screen.view.delta(delta):
            self._screen.add(shown)

    # InputSource

    async def next(self) -> UserInput | Compact | Leave:
        self._set_running(False)
        while self._left is None:
            if not self._queue:
                self._changed.clear()
                await self._changed.wait()
                continue
            text = self._queue.popleft()
            reaction = self._commands.react(text) if self._commands else None
            if reaction is None:
                self._set_running(True)
                return _ports().UserInput(text)
            self._react(text, reaction)
            if reaction.leave:
                return _ports().Leave(reaction.leave)
            if reaction.compact is not None:
                self._set_running(True)
                return _ports().Compact(reaction.compact)
            if reaction.say:
                self._set_running(True)
                return _ports().UserInput(reaction.say)
        return _ports().Leave(self._left)

    async def ask(self, question: str) -> str | None:
        """Asks the user; None where there is no answer."""
        return await self.answer((Note("question", visible(question)),))

    async def answer(self, notes: Sequence[Note], *, initial: str = "") -> str | None:
        """What the user answers to what the notes ask; None where there is no answer.

        Nothing that was typed before they could be read is part of it; it is kept aside meanwhile. `initial`
        is on the line already, to be changed.
        """
        async with self._asking:
            for note in notes:
                self.note(note)
            await self._screen.settled()
            buffer = self._line.buffer
            kept = buffer.document
            buffer.reset()
            buffer.insert_text(initial)
            self._line.prompt = "? "
            self._answer = asyncio.get_running_loop().create_future()
            self._line.app.invalidate()
            try:
                return await self._answer
            finally:
                self._answer = None
                self._line.prompt = "> "
                buffer.set_document(kept)
                self._line.app.invalidate()

    def note(self, note: Note) -> None:
        """Something that no event tells of; printed above the input line."""
        self._screen.add(note)

    def leave(self, reason: LeaveReason) -> None:
        """Makes `next` end the session."""
        self._left = self._left or reason
        self._changed.set()

    @property
    def waiting(self) -> int:
        """Messages that were typed and not yet given to the session."""
        return len(self._queue)

    # Keys

    def submit(self) -> None:
        buffer = self._line.buffer
        text = buffer.text.strip()
        if self._answer is not None:
            buffer.reset()
            if not self._answer.done():
                self.note(Note("user", text))
                self._answer.set_result(text)
            return
        if not text:
            buffer.reset()
            return
        buffer.append_to_history()
        buffer.reset()
        self._queue.append(text)
        self._changed.set()
        self._screen.changed()

    def steer(self) -> None:
        text = self._line.buffer.text.strip()
        if not self._running or self._answer is not None or self._turns is None:
            self._say("Nothing runs that could be steered: Enter sends.")
        elif text:
            self._line.buffer.append_to_history()
            self._line.buffer.reset()
            self._steered.append(visible(text))
            self._turns.steer(text)
            self._screen.changed()

    def stop(self) -> None:
        if self._running and self._turns is not None:
            self._turns.interrupt()

    def interrupt(self) -> None:
        match self._interrupt_key.press(typed=bool(self._line.buffer.text), running=self._running):
            case "clear":
                self._line.buffer.reset()
                self._say(
                    "Cleared. Ctrl-C stops the turn." if self._running else "Cleared. Ctrl-C again leaves."
                )
            case "stop":
                self.stop()
                self._say("Stopping. Ctrl-C again leaves.")
            case "hint":
                self._say("Ctrl-C again leaves.")
            case "leave":
                self.stop()
                self.leave("interrupted")

    def end_of_input(self) -> None:
        if self._answer is not None:
            if not self._answer.done():
                self._answer.set_result(None)
            return
        self.stop()
        self.leave("eof")

    def edit(self) -> None:
        async def run() -> None:
            self._screen.pause(True)
            try:
                await self._line.buffer.open_in_editor()
            finally:
                self._screen.pause(False)

        self._line.app.create_background_task(run())

    def typed(self) -> None:
        if self._line.buffer.text:
            self._hint = ""

    # What is shown

    def _say(self, hint: str) -> None:
        """In the footer, for as long as it holds."""
        self._hint = hint
        self._line.app.invalidate()
        asyncio.get_running_loop().call_later(AGAIN, self._unsay, hint)

    def _unsay(self, hint: str) -> None:
        if self._hint == hint:
            self._hint = ""
            self._line.app.invalidate()

    def _count_on(self) -> None:
        """Draws the seconds of the turn. Nothing is drawn while no turn runs."""
        self._tick = asyncio.get_running_loop().call_later(1.0, self._count_on) if self._running else None
        self._screen.changed()

    def _below(self) -> list[str]:
        """What runs now, and what waits."""
        from agent_chat.ui.phrases import count, cut

        lines: list[str] = []
        if self._running and (status := self._screen.view.status):
            lines.append(f"{status} | {int(time.monotonic() - self._turn_began)} s")
        lines.extend(f"steering: {cut(one_line(text), 100)}" for text in self._steered[-SHOWN_QUEUE:])
        if self._running:
            queued = list(self._queue)
            lines.extend(f"queued: {cut(one_line(text), 100)}" for text in queued[:SHOWN_QUEUE])
            if len(queued) > SHOWN_QUEUE:
                lines.append(f"... and {count(len(queued) - SHOWN_QUEUE, 'more message')}")
        return lines

    def _footer(self) -> str:
        if self._hint:
            return self._hint
        if self._answer is not None:
            return "Enter answers | Esc stops the turn"
        typed = bool(self._line.buffer.text)
        if self._running and typed:
            return "Enter queues for the next turn | Ctrl-S steers | Esc stops the turn | Ctrl-C clears"
        if self._running:
            return "Esc or Ctrl-C stops the turn | type to queue or steer"
        if typed:
            return "Enter sends | Alt-Enter new line | Ctrl-C clears"
        return "Enter sends | Alt-Enter new line | Up history | /help | Ctrl-D leaves"

    def _set_running(self, running: bool) -> None:
        if running == self._running:
            return
        self._running = running
        self._hint = ""
        self._turn_began = time.monotonic()
        if self._tick is not None:
            self._tick.cancel()
        self._count_on()

    def _notice_turn(self, shown: Shown) -> None:
        """Follows the turn by what is told of it."""
        if not isinstance(shown, Note):
            return
        if shown.kind == "user" and shown.text in self._steered:
            self._steered.remove(shown.text)
        elif shown.kind == "closing":
            self._set_running(False)
            if self._steered:
                self._steered.clear()
                late = "What you said came too late for this turn; the model hears it with your next message."
                self.note(Note("notice", late))

    def _react(self, text: str, reaction: Reaction) -> None:
        self.note(Note("user", text))
        for note in reaction.notes:
            self.note(note)
        if reaction.offer and not self._line.buffer.text:
            self._line.buffer.insert_text(reaction.offer)
        if reaction.clear:
            self._screen.clear()
        if reaction.toggle_verbose:
            verbose = self._screen.verbosity != "verbose"
            self._screen.verbosity = "verbose" if verbose else "normal"
            self.note(Note("reply", "Everything is shown." if verbose else "The usual is shown."))

    def _terminate(self, number: signal.Signals) -> None:
        self.signal = number
        if self._turns is not None:
            self._turns.interrupt("terminated")
        self.leave("terminated")

    def _app_ended(self, task: asyncio.Task[None]) -> None:
        """The terminal hung up, or the input line failed: either way nobody can be asked any more."""
        self._line.drawn.set()
        if self._output.closing:
            return
        failed = not task.cancelled() and task.exception()
        self.stop()
        self.leave("eof" if isinstance(failed, EOFError) else "terminated")

    def _report(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """A failure in a callback: said above the line instead of written over it."""
        error = context.get("exception") or context.get("message")
        self.note(Note("error", f"Internal error: {error!r}"))


def _ports() -> ModuleType:
    """Loaded only when there is something to hand over: an import keeps the keys waiting."""
    from agent_chat.core import ports

    return ports
