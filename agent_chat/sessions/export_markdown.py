"""A session as a markdown document."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import assert_never

from agent_chat.core.model import Usage
from agent_chat.sessions.reading import LoadedSession
from agent_chat.sessions.story import Clean, Part, Remark, Said, StoryTurn, Written, outcome_of, story_of
from agent_chat.sessions.transcript import ToolUse

_SIGNS = re.compile(r"([\\`*_\[\]<>#|~&])")
_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}|~{3,})(?P<info>.*)")


def to_markdown(loaded: LoadedSession, clean: Clean) -> str:
    """The whole document. The model's text stays markdown; nothing else of the session acts as such."""
    summary = loaded.summary

    def plain(text: str) -> str:
        return _SIGNS.sub(r"\\\1", " ".join(clean(text).split()))

    turns = story_of(loaded.entries, clean)
    lines = [
        f"# {plain(summary.title) or 'Session'}",
        "",
        f"- Session: {plain(summary.id)}, {moment(summary.started)} to {moment(summary.last)}",
        f"- Folder: {plain(summary.workspace)}",
        f"- Model: {plain(summary.model)}",
        f"- {amount(len(turns), 'turn')}, {tokens(summary.usage)}, {cost(summary.cost_usd)}",
    ]
    for turn in turns:
        lines += ["", *_turn(turn)]
        if told := outcome_of(turn.record):
            lines += ["", f"*{plain(told)}*"]
    return "\n".join(lines) + "\n"


def moment(at: float) -> str:
    """Local time, to the minute."""
    try:
        return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return "an unknown time"


def amount(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def tokens(usage: Usage) -> str:
    return f"{usage.prompt:,} tokens in, {usage.completion:,} out"


def cost(dollars: float | None) -> str:
    """Unknown is said, and never 0."""
    return "cost unknown" if dollars is None else f"${dollars:.4f}"


def became(tool: ToolUse) -> str:
    """What became of a call, in a few words."""
    if tool.ok is None:
        return "no result in the log"
    took = f" in {tool.duration_s:.1f} s" if tool.duration_s is not None else ""
    return f"{'ok' if tool.ok else tool.error_type or 'failed'}{took}"


def _turn(turn: StoryTurn) -> Iterator[str]:
    record = turn.record
    back = ", taken back" if record.taken_back else ""
    yield f"## Turn {record.number}, {moment(record.started)}{back}"
    speaker = ""
    for part in turn.parts:
        now = "You" if isinstance(part, Said) else "Assistant" if isinstance(part, Written) else speaker
        yield ""
        if now != speaker:
            yield f"**{now}**"
            yield ""
        speaker = now
        yield from _part(part)


def _part(part: Part) -> Iterable[str]:
    match part:
        case Said(text=text):
            return [f"> {line}".rstrip() for line in closed(text.strip("\n")).split("\n")]
        case Written(text=text):
            return [closed(text.strip("\n"))]
        case ToolUse():
            return _tool(part)
        case Remark(text=text):
            return ["*" + _SIGNS.sub(r"\\\1", text) + "*"]
        case _:
            assert_never(part)


def _tool(tool: ToolUse) -> Iterator[str]:
    yield f"<details><summary>{html.escape(tool.name)}: {became(tool)}</summary>"
    yield ""
    yield from _fenced(tool.arguments, "json")
    if tool.content:
        yield ""
        yield from _fenced(tool.content, "text")
    yield ""
    yield "</details>"


def _fenced(text: str, language: str) -> Iterator[str]:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    yield f"{marks}{language}"
    yield text.rstrip("\n")
    yield marks


def closed(text: str) -> str:
    """Markdown whose last fence is closed, so that what follows is none of its code."""
    open_marks = ""
    for line in text.split("\n"):
        found = _FENCE.fullmatch(line)
        if found is None:
            continue
        marks, info = found["marks"], found["info"].strip()
        if not open_marks:
            open_marks = "" if marks[0] == "`" and "`" in info else marks
        elif marks[0] == open_marks[0] and len(marks) >= len(open_marks) and not info:
            open_marks = ""
    return f"{text}\n{open_marks}" if open_marks else text
