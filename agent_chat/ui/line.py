"""The face for a terminal that takes no escape sequences: text as it comes, not one escape character."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_chat.core.events import Entry
from agent_chat.core.model import Delta
from agent_chat.ui.pipe import PipeInput
from agent_chat.ui.plain import plain_lines, wanted
from agent_chat.ui.sanitize import VisibleStream, revealed
from agent_chat.ui.shown import Note, Shown, Text, TextEnd, Verbosity
from agent_chat.ui.stdout import Output
from agent_chat.ui.view import View

if TYPE_CHECKING:
    from agent_chat.ui.commands import Reaction

PROMPT = "> "


class LineSink:
    """An `EventSink` over a terminal; reads go through `PipeInput`, whose `prompt` is `self.prompt`."""

    def __init__(
        self,
        stdout: Output,
        *,
        stderr: Output | None = None,
        verbosity: Verbosity = "normal",
        conversation: bool = True,
    ) -> None:
        """`stderr`: where notes go instead of between the text."""
        self._stdout = stdout
        self._stderr = stderr or stdout
        self.verbosity: Verbosity = verbosity
        self._view = View(conversation=conversation, asks=conversation)
        self._safe = VisibleStream()
        self._mid_line = False

    async def emit(self, entry: Entry) -> None:
        self._view.verbose = self.verbosity == "verbose"
        for shown in self._view.entry(entry):
            self._show(shown)

    def show(self, delta: Delta) -> None:
        for shown in self._view.delta(delta):
            self._show(shown)

    def note(self, note: Note) -> None:
        if note.kind != "user" and wanted(note.kind, self.verbosity, terminal=self._stderr.is_terminal):
            self._end_line()
            self._stderr.line(plain_lines(note))

    def react(self, reaction: Reaction) -> None:
        for note in reaction.all_notes:
            self.note(note)
        if reaction.toggle_verbose:
            self.verbosity = "normal" if self.verbosity == "verbose" else "verbose"

    def prompt(self, prompt: str = PROMPT) -> None:
        self._end_line()
        self._stdout.write(prompt)

    def _show(self, shown: Shown) -> None:
        match shown:
            case Text():
                self._write(self._safe.feed(shown.text))
            case TextEnd():
                self._write(self._safe.end())
                self._end_line()
                if shown.discarded:
                    self.note(Note("warning", "The text above is discarded."))
            case Note():
                self.note(shown)
            case _:
                pass

    def _write(self, text: str) -> None:
        if text:
            self._stdout.write(text)
            self._mid_line = not text.endswith("\n")

    def _end_line(self) -> None:
        if self._mid_line:
            self._stdout.write("\n")
            self._mid_line = False


class LineDesk:
    """Asks the person at such a terminal (see `approvals.Desk`), who types a whole line each time."""

    def __init__(self, sink: LineSink, inputs: PipeInput) -> None:
        self._sink = sink
        self._inputs = inputs

    async def answer(self, notes: Sequence[Note], *, initial: str = "") -> str | None:
        for note in notes:
            self._sink.note(note)
        if initial:
            self._sink.note(
                Note("reply", f"It is now, and stays so with a line of one =:\n{revealed(initial)}")
            )
        self._sink.prompt("? ")
        text = await self._inputs.answer()
        return initial if initial and text == "=" else text
