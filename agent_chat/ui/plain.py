"""The face for pipes and scripts: the answers on stdout and nothing else, notices on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_chat.core.events import Entry, TurnEnded
from agent_chat.core.model import Delta
from agent_chat.ui.sanitize import VisibleStream, printable
from agent_chat.ui.shown import PREFIXES, Note, NoteKind, Reasoning, Shown, Verbosity
from agent_chat.ui.stdout import Output
from agent_chat.ui.view import View

if TYPE_CHECKING:
    from agent_chat.ui.commands import Reaction

_ASKING: frozenset[NoteKind] = frozenset(("question", "asked", "place", "added", "removed"))
_NORMAL: frozenset[NoteKind] = _ASKING.union(
    ("error", "warning", "notice", "call", "result", "failure", "reply")
)
_ON_TERMINAL: frozenset[NoteKind] = frozenset(("step", "closing"))
_QUIET: frozenset[NoteKind] = _ASKING.union(("error", "reply"))


def wanted(kind: NoteKind, verbosity: Verbosity, *, terminal: bool) -> bool:
    """Whether such a note goes to stderr. A script is not told what only somebody who waits wants to know."""
    match verbosity:
        case "quiet":
            return kind in _QUIET
        case "normal":
            return kind in _NORMAL or (terminal and kind in _ON_TERMINAL)
        case "verbose":
            return kind != "user"


def plain_lines(note: Note) -> str:
    """A note as lines of plain text, the further ones indented."""
    prefix = PREFIXES[note.kind]
    return prefix + note.text.replace("\n", "\n" + " " * len(prefix))


class PlainSink:
    """An `EventSink`. An answer is written when it is final, whole, with a newline at its end.

    Once stdout has no reader any more nothing further is written, on stderr neither.
    """

    def __init__(
        self,
        stdout: Output,
        stderr: Output,
        *,
        verbosity: Verbosity = "normal",
        conversation: bool = False,
    ) -> None:
        self._stdout = stdout
        self._stderr = stderr
        self.verbosity: Verbosity = verbosity
        self._view = View(conversation=conversation)
        self._reasoning: list[str] = []
        self._safe = VisibleStream()

    async def emit(self, entry: Entry) -> None:
        self._view.verbose = self.verbosity == "verbose"
        for shown in self._view.entry(entry):
            if isinstance(shown, Note) and shown.kind == "closing" and isinstance(entry.event, TurnEnded):
                self._answer(entry.event.answer)
            self._show(shown)

    def show(self, delta: Delta) -> None:
        for shown in self._view.delta(delta):
            self._show(shown)

    def note(self, note: Note) -> None:
        """Something that no event tells of; on stderr."""
        if not self._stdout.gone and wanted(note.kind, self.verbosity, terminal=self._stderr.is_terminal):
            self._stderr.line(plain_lines(note))

    def react(self, reaction: Reaction) -> None:
        """What a command says goes to stderr: stdout is for answers."""
        for note in reaction.all_notes:
            self.note(note)
        if reaction.toggle_verbose:
            self.verbosity = "normal" if self.verbosity == "verbose" else "verbose"

    def _show(self, shown: Shown) -> None:
        match shown:
            case Reasoning():
                if self.verbosity == "verbose":
                    self._reasoning.append(self._safe.feed(shown.text))
            case Note():
                self._end_reasoning()
                self.note(shown)
            case _:
                pass

    def _end_reasoning(self) -> None:
        text = ("".join(self._reasoning) + self._safe.end()).strip()
        self._reasoning = []
        if text:
            self.note(Note("detail", f"reasoning: {text}"))

    def _answer(self, answer: str) -> None:
        text = printable(answer)
        if text:
            self._stdout.write(text if text.endswith("\n") else f"{text}\n")
