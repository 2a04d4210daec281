"""A run in a file, one JSON object a line: to be replayed where there is neither network nor database."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO, cast

from agent_chat import __version__
from agent_chat.core.errors import UserError
from agent_chat.core.events import Entry, load_event
from agent_chat.core.model import Delta
from agent_chat.core.text import storable

FORMAT = 1
"""Raised when the meaning of anything in a file changes."""
_PLACE = ("seq", "at", "session_id", "turn", "iteration")


@dataclass(frozen=True, slots=True)
class Recording:
    entries: tuple[Entry, ...]
    """The whole session up to the end of the run."""
    first: int
    """The seq of the run's own first entry: what is before it is the past of a resumed session."""


class Recorder:
    """An `EventSink` that writes a file; every entry is in it when `emit` returns. Raises OSError."""

    def __init__(self, path: Path, past: Iterable[Entry]) -> None:
        """`past`: the entries of a session that is resumed. Raises UserError where nothing can be written."""
        entries = tuple(past)
        first = entries[-1].seq + 1 if entries else 1
        header = {"type": "recording", "format": FORMAT, "program_version": __version__, "first": first}
        try:
            self._file: TextIO = path.open("w", encoding="utf-8", newline="\n")
            self._write(json.dumps(header), *(entry.to_json() for entry in entries))
        except OSError as error:
            raise UserError(
                f"The recording {path} cannot be written: {error.strerror or error}.",
                hint="Name another file with --record.",
            ) from error

    async def emit(self, entry: Entry) -> None:
        self._write(entry.to_json())

    def show(self, delta: Delta) -> None:
        pass

    def close(self) -> None:
        self._file.close()

    def _write(self, *lines: str) -> None:
        self._file.write("".join(f"{storable(line)}\n" for line in lines))
        self._file.flush()


def read_recording(path: Path) -> Recording:
    """Raises UserError with the line that is wrong. A last line that was cut off is left out."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The recording {path} cannot be read: {error}.") from error
    lines = text.split("\n")
    whole = lines[:-1]  # behind the last newline is nothing, or what a crash left of an entry
    if not whole:
        raise _not_one(path, 1, "there is nothing in it")
    header = _object(path, 1, whole[0])
    if header.get("type") != "recording":
        raise _not_one(path, 1, "the header is missing")
    if header.get("format") != FORMAT:
        raise _not_one(path, 1, f"its format is {header.get('format')!r}, and this version reads {FORMAT}")
    entries = tuple(_entry(path, number, line) for number, line in enumerate(whole[1:], 2))
    first = header.get("first")
    return Recording(entries, first if isinstance(first, int) else 1)


def _entry(path: Path, number: int, line: str) -> Entry:
    fields = _object(path, number, line)
    try:
        seq, at, session_id, turn, iteration = (fields.pop(name) for name in _PLACE)
        event = load_event(json.dumps(fields))
        return Entry(
            int(seq),
            datetime.fromisoformat(at).timestamp(),
            str(session_id),
            int(turn),
            int(iteration),
            event,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _not_one(path, number, f"it is no entry: {type(error).__name__}") from error


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise _not_one(path, number, f"it is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise _not_one(path, number, "it is no object")
    return cast("dict[str, Any]", value)


def _not_one(path: Path, line: int, problem: str) -> UserError:
    return UserError(f"{path}, line {line}: {problem}.", hint="--record FILE writes a recording.")
