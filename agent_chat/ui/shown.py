"""What a face is given to show: values, free of markup and of escape codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NoteKind = Literal[
    "error",
    "warning",
    "notice",
    "call",
    "result",
    "failure",
    "step",
    "detail",
    "closing",
    "user",
    "question",
    "reply",
    "asked",
    "place",
    "added",
    "removed",
]
"""`failure`: a tool's result that is none. `step`: an iteration or attempt. `reply`: a command's answer.
`asked`: what a person is asked about; of a difference, `place`, `added` and `removed` are lines."""
Verbosity = Literal["quiet", "normal", "verbose"]
LEVELS: tuple[Verbosity, ...] = ("quiet", "normal", "verbose")


PREFIXES: dict[NoteKind, str] = {
    "error": "error: ",
    "warning": "warning: ",
    "notice": "",
    "call": "* ",
    "result": "  ",
    "failure": "  failed: ",
    "step": "- ",
    "detail": "- ",
    "closing": "",
    "user": "> ",
    "question": "? ",
    "reply": "",
    "asked": "    ",
    "place": "    ",
    "added": "    ",
    "removed": "    ",
}
"""What a note's first line begins with; the further ones are indented as far."""


@dataclass(frozen=True, slots=True)
class Note:
    """One or more lines by the program itself. `text` is safe to print."""

    kind: NoteKind
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """The next piece of the model's text, in order. Raw: a face makes it safe when it prints it."""

    text: str


@dataclass(frozen=True, slots=True)
class TextEnd:
    """The model's text is complete as it stands, or, when `discarded`, not valid."""

    discarded: bool = False


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The next piece of the model's reasoning. Raw."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolText:
    """The next piece of what a running tool prints. Raw."""

    name: str
    text: str


Shown = Note | Text | TextEnd | Reasoning | ToolText
