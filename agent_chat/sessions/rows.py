"""Entries and summaries as rows of the database, and back, whatever has happened to the rows."""

from __future__ import annotations

import json
from typing import Any, cast, get_args

from agent_chat.core.events import (
    DAMAGED,
    Entry,
    Event,
    LeaveReason,
    UnknownEvent,
    dump_event,
    load_event,
)
from agent_chat.core.model import Usage
from agent_chat.core.text import storable
from agent_chat.sessions.summary import SessionSummary

_SEQ_BITS = 32

INSERT_EVENT = "INSERT INTO events (id, at, turn, iteration, type, body) VALUES (?, ?, ?, ?, ?, ?)"
EVENT_COLUMNS = "id, at, turn, iteration, CAST(body AS BLOB)"
SUMMARY_COLUMNS = (
    "id, started, last, workspace, model, title, turns, prompt, cached, completion, reasoning, cost, ended"
)
INSERT_SUMMARY = f"INSERT INTO sessions (number, {SUMMARY_COLUMNS}) VALUES ({', '.join('?' * 14)})"
"""The number first; None for the next free one."""

EventRow = tuple[int, float, int, int, str, str]


def event_id(number: int, seq: int) -> int:
    """Where the event of a session is kept. `number`: that of the session's row."""
    return number << _SEQ_BITS | seq


def event_seq(row_id: int) -> int:
    return row_id & (1 << _SEQ_BITS) - 1


def session_number(row_id: int) -> int:
    return row_id >> _SEQ_BITS


def event_range(number: int) -> tuple[int, int]:
    """The first and the last id that events of a session can have."""
    return event_id(number, 0), event_id(number + 1, 0) - 1


def event_row(number: int, entry: Entry) -> EventRow:
    event = entry.event
    return (
        event_id(number, entry.seq),
        entry.at,
        entry.turn,
        entry.iteration,
        storable(event.type),
        _dump(event),
    )


def _dump(event: Event) -> str:
    try:
        return storable(dump_event(event))
    except (ValueError, TypeError, RecursionError):
        return _dump_loosely(event)


def _dump_loosely(event: Event) -> str:
    """For what a provider sent and JSON cannot say: what can be kept is kept.

    It never fails: one such event must not keep those after it from being written.
    """
    try:
        fields: dict[str, Any] = event.model_dump()
        return storable(json.dumps(fields, default=str, ensure_ascii=False))
    except (ValueError, TypeError, RecursionError) as error:
        return json.dumps({"type": event.type, "not_written": str(error)})


class RowReader:
    """Turns the rows of one session into entries, in order. A damaged one costs itself only."""

    def __init__(self, session_id: str) -> None:
        self.damaged = 0
        """How many rows could not be read."""
        self._session_id = session_id
        self._at = 0.0
        self._turn = 0
        self._iteration = 0

    def read(self, row: tuple[Any, ...]) -> Entry:
        """`row`: `EVENT_COLUMNS`. In the place of a damaged entry stands an `UnknownEvent` of the type
        `DAMAGED`: its seq stays taken, and nobody mistakes the gap for silence."""
        row_id, at, turn, iteration, body = row
        # A place that is damaged is that of the entry before; the event itself may still be good.
        self._at = float(at) if isinstance(at, (int, float)) else self._at
        self._turn = turn if isinstance(turn, int) else self._turn
        self._iteration = iteration if isinstance(iteration, int) else self._iteration
        return Entry(
            event_seq(row_id), self._at, self._session_id, self._turn, self._iteration, self._event(body)
        )

    def _event(self, body: object) -> Event:
        problem = "empty"
        if isinstance(body, bytes):
            try:
                return load_event(body)
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                problem = type(error).__name__
        self.damaged += 1
        return UnknownEvent(type=DAMAGED, body={"problem": problem})


def summary_row(summary: SessionSummary) -> tuple[Any, ...]:
    """`SUMMARY_COLUMNS`."""
    usage = summary.usage
    return (
        summary.id,
        summary.started,
        summary.last,
        storable(summary.workspace),
        storable(summary.model),
        storable(summary.title),
        summary.turns,
        usage.prompt,
        usage.cached,
        usage.completion,
        usage.reasoning,
        summary.cost_usd,
        summary.ended,
    )


def read_summary(row: tuple[Any, ...]) -> SessionSummary:
    """`row`: `SUMMARY_COLUMNS`."""
    session_id, started, last, workspace, model, title, turns, prompt, cached, completion, reasoning = row[
        :11
    ]
    cost, ended = row[11:]
    return SessionSummary(
        id=session_id,
        started=started,
        last=last,
        workspace=workspace,
        model=model,
        title=title,
        turns=turns,
        usage=Usage(prompt, cached, completion, reasoning),
        cost_usd=cost,
        ended=cast("LeaveReason", ended) if ended in get_args(LeaveReason) else None,
    )
