"""A session as it is told to people who were not there: turn by turn, what was said and done, in order."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from agent_chat.core.context_events import ContextCompacted
from agent_chat.core.events import (
    Entry,
    FileChanged,
    ModelReplied,
    ModelSwitched,
    Notice,
    ReplyInterrupted,
    TurnEnded,
    TurnStarted,
    UserSaid,
)
from agent_chat.sessions.transcript import ToolUse, TurnRecord, turns_of

Clean = Callable[[str], str]
"""Makes text of unknown origin harmless to show."""


@dataclass(frozen=True, slots=True)
class Said:
    """By the user."""

    text: str


@dataclass(frozen=True, slots=True)
class Written:
    """By the model, as markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class Remark:
    """By the program, on one line."""

    text: str


Part = Said | Written | ToolUse | Remark


@dataclass(frozen=True, slots=True)
class StoryTurn:
    record: TurnRecord
    parts: tuple[Part, ...]


def story_of(entries: Iterable[Entry], clean: Clean) -> list[StoryTurn]:
    """Every text in the parts went through `clean`; the fields of the records did not."""
    entries = tuple(entries)
    return [
        StoryTurn(record, tuple(_parts(record, events, clean)))
        for record, events in zip(turns_of(entries), _by_turn(entries), strict=True)
    ]


def _by_turn(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    turn: list[Entry] | None = None
    for entry in entries:
        if isinstance(entry.event, TurnStarted):
            if turn is not None:
                yield turn
            turn = []
        elif turn is not None:
            turn.append(entry)
    if turn is not None:
        yield turn


def _parts(record: TurnRecord, entries: Iterable[Entry], clean: Clean) -> Iterator[Part]:
    tools = iter(record.tools)
    written = ""
    for entry in entries:
        match entry.event:
            case UserSaid(text=text):
                yield Said(clean(text))
            case ModelReplied(text=text, calls=calls, purpose=purpose):
                uses = [_cleaned(tool, clean) for _, tool in zip(calls, tools, strict=False)]
                if text.strip() and (purpose == "answer" or not written):
                    written = text
                    yield Written(clean(text))
                yield from uses
            case ReplyInterrupted(text=text) if text.strip():
                written = text
                yield Written(clean(text))
            case TurnEnded(answer=answer) if answer.strip() and answer.strip() != written.strip():
                yield Written(clean(answer))
            case event if told := _told(event):
                yield Remark(" ".join(clean(told).split()))
            case _:
                pass


def _told(event: object) -> str:
    match event:
        case FileChanged(path=path, added=added, removed=removed):
            return f"{path}: +{added} -{removed}"
        case ModelSwitched(from_model=before, to_model=after):
            return f"{before} could not answer; {after} goes on"
        case ContextCompacted(dropped=dropped):
            return f"The first {dropped} messages were summarized"
        case Notice(message=message):
            return message
        case _:
            return ""


def _cleaned(tool: ToolUse, clean: Clean) -> ToolUse:
    name = " ".join(clean(tool.name).split())
    return replace(tool, name=name, arguments=clean(_indented(tool.arguments)), content=clean(tool.content))


def _indented(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments  # as the model wrote it


def outcome_of(record: TurnRecord) -> str:
    """How a turn ended, where it is not simply answered; not cleaned."""
    if record.kind is None:
        return "This turn has no end in the log."
    if record.kind == "completed":
        return ""
    because = f": {record.evidence.strip()}" if record.evidence.strip() else ""
    return f"{record.kind}, {record.reason}{because}"
