"""Asking a person whether a call may run: what it would do, the answers there are, and what each means."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

from agent_chat.core.approval import (
    Approval,
    ApprovalRequest,
    Approved,
    Denied,
    NeedsPerson,
    Preview,
    Revise,
)
from agent_chat.core.rules import parse_rule
from agent_chat.ui.phrases import count
from agent_chat.ui.sanitize import one_line, revealed
from agent_chat.ui.shown import Note, NoteKind

ROWS = 30
"""Lines of what would happen that are shown at first."""
CHARACTERS = 4_000
"""The same in characters: one line can be long."""
MOST_CALLS = 100
"""Calls that one answer can allow."""

REFUSED = (
    "Denied: the user said no to this call. Do not try the same in another form; go on without it, "
    "or ask what to do instead."
)
NOT_ANSWERED = "Denied: the user left without an answer."


class Desk(Protocol):
    """Where a person is asked."""

    async def answer(self, notes: Sequence[Note], *, initial: str = "") -> str | None:
        """What the person answers to what the notes ask; None where there is no answer. What was typed before
        they could be read is no part of it. `initial` is a text to begin with, to be changed."""
        ...


@dataclass(frozen=True, slots=True)
class _Asked:
    """A call as it would run, and what a person may say about it."""

    request: ApprovalRequest
    preview: Preview | None
    verdict: NeedsPerson
    rule: str | None
    """What a yes for longer would allow."""
    changed: Mapping[str, Any] | None = None
    """The arguments as the person changed them."""


class ApprovalDialog:
    """A `Person`. Several calls are asked about one after the other."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._one_at_a_time = asyncio.Lock()
        self._left: dict[tuple[str, str], int] = {}
        """Calls that were allowed in advance, by tool and by the rule that asks."""

    async def ask(
        self,
        request: ApprovalRequest,
        preview: Preview | None,
        verdict: NeedsPerson,
        rule: str | None,
        revise: Revise,
    ) -> Approval:
        async with self._one_at_a_time:
            kind = (request.name, verdict.rule)
            if self._left.get(kind):
                self._left[kind] -= 1
                return Approved()
            return await self._talk(_Asked(request, preview, verdict, rule), revise)

    async def _talk(self, asked: _Asked, revise: Revise) -> Approval:
        notes = _question(asked)
        while True:
            answer = await self._desk.answer(notes)
            if answer is None:
                return Denied(NOT_ANSWERED)
            word, _, rest = answer.strip().partition(" ")
            rest = rest.strip()
            match word.lower():
                case "y" | "yes" if not rest:
                    return Approved(arguments=asked.changed)
                case "n" | "no" if not rest:
                    return Denied(REFUSED)
                case "n" | "no" | "i":
                    if text := rest or await self._instructions():
                        return Denied(f"Denied: the user said no to this call, and: {text}")
                    notes = [_choices(asked)]
                case "e" | "edit" if not rest:
                    asked = await self._edit(asked, revise) or asked
                    notes = _question(asked)
                case "s" if asked.rule and not rest:
                    return Approved("session", asked.changed)
                case "a" if asked.rule and not rest:
                    if rule := await self._rule(asked.request.name, asked.rule):
                        return Approved("always", asked.changed, rule)
                    notes = [_choices(asked)]
                case "v" if not rest:
                    notes = _question(asked, whole=True)
                case digits if digits.isdecimal() and 1 <= int(digits) <= MOST_CALLS and not rest:
                    self._left[asked.request.name, asked.verdict.rule] = int(digits) - 1
                    return Approved(arguments=asked.changed)
                case _:
                    notes = [Note("warning", "That is none of the answers."), _choices(asked)]

    async def _instructions(self) -> str:
        note = Note("question", "What should be done instead? (nothing: back to the question)")
        return (await self._desk.answer([note]) or "").strip()

    async def _rule(self, tool: str, proposed: str) -> str | None:
        notes = [Note("question", "What is allowed from now on, in every session? (nothing: back)")]
        while True:
            text = (await self._desk.answer(notes, initial=proposed) or "").strip()
            if not text:
                return None
            try:
                rule = parse_rule(text, "allow", "session")
            except ValueError as error:
                problem = str(error)
            else:
                if rule.names(tool):
                    return text
                problem = f"{text!r} is not about {tool}"
            notes, proposed = [Note("warning", revealed(problem))], text

    async def _edit(self, asked: _Asked, revise: Revise) -> _Asked | None:
        """The call as the person changed it; None where they thought better of it."""
        key, text = _to_edit(asked)
        what = "The command" if key else "The arguments, as JSON"
        notes = [Note("question", f"{what} (Ctrl-X Ctrl-E opens the editor; nothing: back to the question)")]
        while True:
            text = await self._desk.answer(notes, initial=text) or ""
            if not text.strip():
                return None
            try:
                arguments = {**asked.request.arguments, key: text} if key else _read(text)
                revision = await revise(arguments)
            except ValueError as error:
                notes = [Note("warning", f"That cannot be run: {revealed(str(error))}")]
                continue
            request = replace(asked.request, arguments=revision.arguments)
            # The proposed rule was for the call as it was.
            return replace(
                asked, request=request, preview=revision.preview, rule=None, changed=revision.arguments
            )


def _question(asked: _Asked, *, whole: bool = False) -> list[Note]:
    """Exactly what would run, and the answers there are. Of a long one the beginning, unless `whole`."""
    request, preview = asked.request, asked.preview
    name, why = one_line(request.name), one_line(asked.verdict.why)
    lines = list(_what(request, preview))
    shown = lines if whole else list(_bounded(lines))
    notes = [Note("question", f"May {name} run?{f' ({why})' if why else ''}")]
    notes += (Note(kind, text) for kind, text in shown)
    if preview is not None and preview.where:
        notes.append(Note("asked", f"({one_line(preview.where)})"))
    notes.append(_choices(asked, more=shown != lines))
    return notes


def _choices(asked: _Asked, *, more: bool = False) -> Note:
    choices = ["y yes", "n no", "i no, and what to do instead", "e edit"]
    if asked.rule:
        choices += ["s yes for this session", "a always"]
    choices.append("3 yes to 3 calls of it")
    if more:
        choices.append("v show all")
    text = " | ".join(choices)
    if asked.rule:
        text += f"\ns and a allow: {revealed(asked.rule)}"
    return Note("reply", text)


def _what(request: ApprovalRequest, preview: Preview | None) -> Iterator[tuple[NoteKind, str]]:
    """What would run, line by line."""
    if preview is None or preview.kind == "text":
        for key, value in request.arguments.items():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            first, *rest = revealed(text).split("\n")
            yield "asked", f"{one_line(key)}: {first}"
            for line in rest:
                yield "asked", f"  {line}"
    if preview is not None:
        for line in revealed(preview.text).rstrip("\n").split("\n"):
            yield (_diff_kind(line) if preview.kind == "diff" else "asked"), line


def _diff_kind(line: str) -> NoteKind:
    match line[:1]:
        case "+":
            return "added"
        case "-":
            return "removed"
        case "@":
            return "place"
        case _:
            return "asked"


def _bounded(lines: Sequence[tuple[NoteKind, str]]) -> Iterator[tuple[NoteKind, str]]:
    left = CHARACTERS
    for number, (kind, line) in enumerate(lines):
        if number == ROWS or left <= 0:
            yield "asked", f"... {count(len(lines) - number, 'more line')} (v shows all)"
            return
        if len(line) > left:
            yield kind, line[:left]
            yield "asked", f"... {count(len(line) - left, 'more character')} of this line (v shows all)"
            left = 0
            continue
        yield kind, line
        left -= len(line)


def _to_edit(asked: _Asked) -> tuple[str, str]:
    """The argument that is edited as it is, and its text; else an empty name and all arguments as JSON."""
    arguments, preview = asked.request.arguments, asked.preview
    if preview is not None and preview.kind == "command" and revealed(preview.text) == preview.text:
        for key, value in arguments.items():
            if value == preview.text:
                return key, preview.text
    text = json.dumps(dict(arguments), ensure_ascii=False, indent=2, default=str)
    # What could hide or act on the line is edited as an escape.
    return "", text if revealed(text) == text else json.dumps(dict(arguments), indent=2, default=str)


def _read(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    return cast("dict[str, Any]", value)
