"""What was spent, read from the log: on what, when, and by which model, tool, folder, session or turn."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, get_args

from agent_chat.core.model import Usage
from agent_chat.sessions import schema
from agent_chat.sessions.rows import event_seq, session_number

By = Literal["model", "tool", "project", "day", "session", "turn", "iteration"]
BYS: tuple[By, ...] = get_args(By)

ANSWERS = "(no tool)"
"""What replies are booked on that asked for no tool."""
JOBS = "(small jobs)"
"""What replies are booked on that are no part of a conversation: titles, summaries."""

_IN_ORDER: tuple[By, ...] = ("day", "turn", "iteration")
_COUNTS = ("prompt", "cached", "completion", "reasoning")
_TYPES = "'model_replied', 'reply_discarded', 'job_replied', 'tool_started', 'tool_finished'"


@dataclass(slots=True)
class Account:
    """What was booked on one name."""

    name: str
    """Not safe to print as it is."""
    replies: int = 0
    usage: Usage = Usage()
    uncounted: int = 0
    """Replies whose tokens nobody counted."""
    known_cost_usd: float = 0.0
    unpriced: int = 0
    """Replies whose cost is unknown."""
    tool_calls: int = 0
    failed_calls: int = 0
    """Tool calls whose result is a failure."""
    tool_seconds: float = 0.0
    sessions: set[int] = field(default_factory=set[int])
    """The numbers of the sessions that it was booked in."""

    @property
    def cost_usd(self) -> float | None:
        """None where the cost of any reply is unknown."""
        return None if self.unpriced else self.known_cost_usd


@dataclass(frozen=True, slots=True)
class Accounts:
    rows: tuple[Account, ...]
    """The dearest first; days, turns and iterations in order."""
    total: Account


@dataclass(frozen=True, slots=True)
class _Session:
    id: str
    workspace: str
    own_from: int
    """The seq of the first event that was not spent in another session."""


def accounts(
    connection: sqlite3.Connection, by: By, since: float = 0.0, session_id: str | None = None
) -> Accounts:
    """Of all sessions, or of one, since a time in seconds since the epoch.

    What a fork took over was spent by the session that it comes from. Raises sqlite3.Error.
    """
    sessions = _sessions(connection)
    booked: dict[str, Account] = {}
    total = Account("total")
    models: dict[int, str] = {}
    for row in _events(connection, since, session_id):
        number, session = session_number(row.id), sessions.get(session_number(row.id))
        if session is None or event_seq(row.id) < session.own_from:
            continue
        if row.type == "model_replied":
            models[number] = row.model
        for name, share in _shares(row, by, session, models.get(number, "")):
            account = booked.setdefault(name, Account(name))
            _book(account, row, number, share)
        _book(total, row, number, _Share())
    rows = list(booked.values())
    if by not in _IN_ORDER:
        rows.sort(key=lambda one: (-one.known_cost_usd, -one.usage.total, -one.tool_calls, one.name))
    elif by == "day":
        rows.sort(key=lambda one: one.name)
    return Accounts(tuple(rows), total)


@dataclass(frozen=True, slots=True)
class _Row:
    id: int
    at: float
    turn: int
    iteration: int
    type: str
    model: str
    usage: Usage | None
    cost_usd: float | None
    calls: tuple[str, ...]
    """The names of the tools that a reply asks for."""
    name: str
    ok: bool
    seconds: float

    @property
    def is_reply(self) -> bool:
        return self.type not in ("tool_started", "tool_finished")


@dataclass(frozen=True, slots=True)
class _Share:
    """The part of a reply that is booked on one of several tools."""

    index: int = 0
    of: int = 1


def _sessions(connection: sqlite3.Connection) -> dict[int, _Session]:
    has_origins = schema.version_of(connection) >= schema.ORIGINS_SINCE
    taken_over: dict[int, tuple[str, int]] = {}
    if has_origins:
        for number, origin, events in connection.execute("SELECT number, session, events FROM origins"):
            taken_over[number] = (origin, events)
    found: dict[int, _Session] = {}
    for number, session_id, workspace in connection.execute("SELECT number, id, workspace FROM sessions"):
        origin, events = taken_over.get(number, (session_id, 0))
        # An imported session that keeps its id is the session itself.
        found[number] = _Session(session_id, workspace, 0 if origin == session_id else events + 1)
    return found


def _events(connection: sqlite3.Connection, since: float, session_id: str | None) -> Iterator[_Row]:
    only = "" if session_id is None else " AND id >> 32 = (SELECT number FROM sessions WHERE id = ?)"
    query = (
        f"SELECT id, at, turn, iteration, type, CAST(body AS BLOB) FROM events"
        f" WHERE type IN ({_TYPES}) AND at >= ?{only} ORDER BY id"
    )
    values = (since,) if session_id is None else (since, session_id)
    for event, at, turn, iteration, kind, body in connection.execute(query, values):
        try:
            yield _row((event, float(at), int(turn), int(iteration), str(kind)), json.loads(body))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue  # damaged


def _row(place: tuple[int, float, int, int, str], fields: dict[str, Any]) -> _Row:
    usage, cost = fields.get("usage"), fields.get("cost_usd")
    return _Row(
        *place,
        model=str(fields.get("model", "")),
        usage=usage and Usage(*(int(usage[name]) for name in _COUNTS)),
        cost_usd=None if cost is None else float(cost),
        calls=tuple(str(call["name"]) for call in fields.get("calls", ())),
        name=str(fields.get("name", "")),
        ok=bool(fields.get("ok")),
        seconds=float(fields.get("duration_s", 0)),
    )


def _shares(row: _Row, by: By, session: _Session, model: str) -> Iterator[tuple[str, _Share]]:
    """What an event is booked on."""
    if by == "tool":
        if not row.is_reply:
            yield row.name, _Share()
        elif row.type == "job_replied":
            yield JOBS, _Share()
        elif not row.calls:
            yield ANSWERS, _Share()
        else:
            for index, name in enumerate(row.calls):
                yield name, _Share(index, len(row.calls))
        return
    yield _name(row, by, session, model), _Share()


def _name(row: _Row, by: By, session: _Session, model: str) -> str:
    match by:
        case "model":
            return row.model or model
        case "project":
            return session.workspace
        case "day":
            return _day(int(row.at) // 60)
        case "session":
            return session.id
        case "turn":
            return str(row.turn)
        case "iteration":
            return f"{row.turn}.{row.iteration}"
        case "tool":
            return row.name


def _book(account: Account, row: _Row, number: int, share: _Share) -> None:
    account.sessions.add(number)
    match row.type:
        case "tool_started":
            account.tool_calls += 1
        case "tool_finished":
            account.failed_calls += not row.ok
            account.tool_seconds += row.seconds
        case _:
            account.replies += share.index == 0
            account.usage = account.usage + _part(row.usage or Usage(), share)
            account.uncounted += row.usage is None and share.index == 0
            account.unpriced += row.cost_usd is None and share.index == 0
            account.known_cost_usd += (row.cost_usd or 0.0) / share.of


def _part(usage: Usage, share: _Share) -> Usage:
    """So that the parts add up to the whole."""
    if share.of == 1:
        return usage
    counts = (usage.prompt, usage.cached, usage.completion, usage.reasoning)
    return Usage(*(count // share.of + (share.index < count % share.of) for count in counts))


@lru_cache(4096)
def _day(minute: int) -> str:
    """In local time."""
    return datetime.fromtimestamp(minute * 60).astimezone().strftime("%Y-%m-%d")
