"""Colors and emphasis for the program's own lines: a kind of note in, ANSI text out."""

from __future__ import annotations

from dataclasses import dataclass

from agent_chat.ui.shown import PREFIXES, Note, NoteKind

_CODES: dict[NoteKind, str] = {
    "error": "31;1",
    "warning": "33",
    "notice": "2",
    "call": "36",
    "result": "2",
    "failure": "31",
    "step": "2",
    "detail": "2",
    "closing": "2",
    "user": "1",
    "question": "35;1",
    "reply": "",
    "asked": "",
    "place": "36",
    "added": "32",
    "removed": "31",
}
_COLORS = frozenset(("31", "32", "33", "35", "36"))


@dataclass(frozen=True, slots=True)
class Paint:
    """What a terminal can show."""

    color: bool
    """False where the user wants none (`NO_COLOR`): bold and dim stay."""
    unicode: bool
    """False where the encoding has ASCII only."""

    def note(self, note: Note) -> list[str]:
        """A note's lines, the further ones indented; one style each, so that a cut leaves nothing open."""
        prefix = PREFIXES[note.kind]
        first, *rest = note.text.split("\n")
        indent = " " * len(prefix)
        codes = self.codes(_CODES[note.kind])
        return [styled(line, codes) for line in (prefix + first, *(indent + line for line in rest))]

    def dim(self, text: str) -> str:
        return styled(text, "2")

    def codes(self, codes: str) -> str:
        """SGR codes without the colors where there are to be none."""
        return codes if self.color else ";".join(code for code in codes.split(";") if code not in _COLORS)


def styled(text: str, codes: str) -> str:
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text
