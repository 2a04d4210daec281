"""A session as one JSON object, which another machine, or this one later, takes in again."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from agent_chat import __version__
from agent_chat.core.errors import UserError
from agent_chat.core.events import Entry, ToolFinished, dump_event, load_event
from agent_chat.core.ports import ResultStore
from agent_chat.core.text import storable
from agent_chat.sessions.ids import is_session_id
from agent_chat.sessions.origins import Origin, insert_origin, insert_session, summarize_again
from agent_chat.sessions.reading import LoadedSession
from agent_chat.sessions.rows import INSERT_EVENT, event_row
from agent_chat.sessions.store import SessionStore

SCHEMA_VERSION = 1
"""Of the exported object; raised when the meaning of anything in it changes."""
_LARGEST_SEQ = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class Exported:
    """What an exported session holds."""

    session_id: str
    entries: tuple[Entry, ...]
    results: Mapping[str, str]
    """Whole tool results by their id."""


class NotASession(UserError):
    """What was to be imported is no exported session."""

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"This is not an exported session: {problem}.",
            hint="`agent-chat sessions export ID --format json` writes one.",
        )


def to_json(loaded: LoadedSession, stored: ResultStore) -> str:
    """One line: the session, its events as they are, and the whole results that they name."""
    summary = loaded.summary
    named = {
        entry.event.stored
        for entry in loaded.entries
        if isinstance(entry.event, ToolFinished) and entry.event.stored
    }
    results = {name: text for name in sorted(named) if (text := stored.get(name)) is not None}
    return json.dumps(
        {
            "schema_version": SCHEMA_VERSION,
            "type": "session",
            "program_version": __version__,
            "session": {
                "id": summary.id,
                "title": summary.title,
                "workspace": summary.workspace,
                "model": summary.model,
                "started": _time(summary.started),
                "last": _time(summary.last),
                "turns": summary.turns,
            },
            "events": [_event_json(entry) for entry in loaded.entries],
            "results": results,
        },
        ensure_ascii=False,
    )


def read_exported(data: bytes) -> Exported:
    """Raises NotASession with what is wrong, and where."""
    try:
        value: Any = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise NotASession("it is not UTF-8") from error
    except RecursionError as error:
        raise NotASession("it is nested too deeply") from error
    except ValueError as error:
        raise NotASession(f"it is no JSON ({error})") from error
    top = _object(value, "the top level")
    if top.get("type") != "session":
        raise NotASession('its "type" is not "session"')
    version = _whole(top.get("schema_version"), "schema_version")
    if version > SCHEMA_VERSION:
        raise UserError(
            f"This session was exported by a newer version of agent-chat (format {version}).",
            hint="Update agent-chat, then import it.",
        )
    session_id = _object(top.get("session"), "session").get("id")
    if not isinstance(session_id, str) or not is_session_id(session_id):
        raise NotASession("session.id is not the id of a session")
    events = top.get("events")
    if not isinstance(events, list) or not events:
        raise NotASession("it has no events")
    entries = _entries(cast("list[Any]", events), session_id)
    return Exported(session_id, entries, _results(top.get("results", {})))


def import_session(store: SessionStore, exported: Exported, now: float) -> str:
    """Keeps an exported session, under its own id or, where that is taken, a new one; returns the id.

    `now`: seconds since the epoch. Raises StoreUnavailable.
    """
    new_id = store.free_id(now)

    def write(connection: sqlite3.Connection) -> str:
        taken = connection.execute("SELECT 1 FROM sessions WHERE id = ?", (exported.session_id,)).fetchone()
        session_id = new_id if taken else exported.session_id
        number = insert_session(connection, session_id)
        connection.executemany(INSERT_EVENT, (event_row(number, entry) for entry in exported.entries))
        insert_origin(connection, number, Origin("import", exported.session_id, exported.entries[-1].seq))
        connection.executemany(
            "INSERT OR IGNORE INTO results (id, sha256, created, body) VALUES (?, ?, ?, ?)",
            (
                (name, bytes.fromhex(_digest(text)), time.time(), text)
                for name, text in exported.results.items()
            ),
        )
        summarize_again(connection, number, session_id)
        return session_id

    return store.change(write)


def _event_json(entry: Entry) -> dict[str, Any]:
    return {
        "seq": entry.seq,
        "at": entry.at,
        "turn": entry.turn,
        "iteration": entry.iteration,
        "event": json.loads(dump_event(entry.event)),
    }


def _entries(events: list[Any], session_id: str) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    for index, value in enumerate(events):
        place = f"events[{index}]"
        fields = _object(value, place)
        seq, turn, iteration = (
            _whole(fields.get(name), f"{place}.{name}") for name in ("seq", "turn", "iteration")
        )
        if not (entries[-1].seq if entries else 0) < seq <= _LARGEST_SEQ:
            raise NotASession(f"{place}.seq is out of order")
        at = fields.get("at")
        if isinstance(at, bool) or not isinstance(at, (int, float)) or not 0 <= at < 1e11:
            raise NotASession(f"{place}.at is no time in seconds")
        body = _object(fields.get("event"), f"{place}.event")
        if not isinstance(body.get("type"), str):
            raise NotASession(f"{place}.event has no type")
        try:
            event = load_event(json.dumps(body))
        except (ValueError, TypeError, RecursionError) as error:
            raise NotASession(f"{place}.event is no valid {body['type']!r}") from error
        entries.append(Entry(seq, float(at), session_id, turn, iteration, event))
    return tuple(entries)


def _results(value: Any) -> dict[str, str]:
    results: dict[str, str] = {}
    for name, text in _object(value, "results").items():
        # An id follows from its text: nobody can put another text in the place of a result that is kept.
        if not isinstance(text, str) or len(name) < 12 or not _digest(storable(text)).startswith(name):
            raise NotASession(f"results[{name!r}] is not the text of that id")
        results[name] = storable(text)
    return results


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _object(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise NotASession(f"{place} is not an object")
    return cast("dict[str, Any]", value)


def _whole(value: Any, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 53:
        raise NotASession(f"{place} is not a whole number")
    return value


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
