"""The session log, measured from inside.

python log.py append COUNT          seconds of every event appended to one session
python log.py commits COUNT         the same number of rows of the same size, each a commit of plain SQLite
python log.py fill FOLDER COUNT     writes that many events, in sessions of 1,000
python log.py list FOLDER           seconds to open the store and list its sessions
python log.py search FOLDER         seconds to open the store and search: the slower of two words
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agent_chat.core.events import (
    AttemptStarted,
    Entry,
    Event,
    IterationEnded,
    IterationStarted,
    ModelReplied,
    SessionStarted,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    UserSaid,
    dump_event,
)
from agent_chat.core.messages import ToolCall
from agent_chat.core.model import Usage
from agent_chat.sessions.search import search_sessions
from agent_chat.sessions.store import SessionStore

SESSION_LENGTH = 1000


def iteration(number: int) -> list[Event]:
    call = ToolCall(f"call_{number}", "read_file", json.dumps({"path": f"notes/{number}.md"}))
    return [
        IterationStarted(),
        AttemptStarted(model="openai/gpt-4.1-mini", attempt=1),
        ModelReplied(
            model="openai/gpt-4.1-mini",
            text="I read the next one.",
            calls=(call,),
            finish_reason="tool_calls",
            usage=Usage(1200, 800, 40, 0),
            cost_usd=None,
            duration_s=0.8,
        ),
        ToolStarted(
            call_id=call.id,
            name=call.name,
            arguments=json.loads(call.arguments),
            effect="read",
            idempotency_key=f"s:1:{number}:{call.id}",
        ),
        ToolFinished(
            call_id=call.id, name=call.name, ok=True, content="line\n" * 40, size=200, duration_s=0.002
        ),
        IterationEnded(duration_s=0.9),
    ]


def turn(number: int) -> list[Event]:
    """32 events, as a turn of five iterations writes them."""
    events: list[Event] = [TurnStarted(), UserSaid(text=f"Look at the notes of day {number}.")]
    for index in range(5):
        events += iteration(number * 5 + index)
    ended = TurnEnded(
        kind="completed",
        reason="final_answer",
        answer="All is well.",
        evidence="",
        iterations=5,
        tool_calls=5,
        usage=Usage(6000, 4000, 200, 0),
        cost_usd=None,
        duration_s=4.0,
    )
    return [*events, ended]


def entries(session_id: str, count: int) -> Iterator[Entry]:
    started = SessionStarted(
        program_version="bench",
        workspace="/home/me/notes",
        system="Be brief.",
        model="m",
        tools=("read_file",),
    )
    yield Entry(1, 1.0, session_id, 0, 0, started)
    seq, number = 1, 0
    while True:
        number += 1
        for event in turn(number):
            if seq == count:
                return
            seq += 1
            yield Entry(seq, float(seq), session_id, number, 1, event)


def fail(problem: str) -> None:
    raise RuntimeError(problem)


def append(count: int) -> Any:
    with TemporaryDirectory() as folder:
        log = SessionStore(Path(folder), fail).create(1.0)
        times: list[float] = []
        for entry in list(entries(log.session_id, count)):
            started = time.perf_counter()
            log.append(entry)
            times.append(time.perf_counter() - started)
        return times


def commits(count: int) -> Any:
    bodies = [dump_event(entry.event) for entry in entries("s", count)]
    with TemporaryDirectory() as folder:
        connection = sqlite3.connect(Path(folder) / "plain.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT)")
        times: list[float] = []
        for body in bodies:
            started = time.perf_counter()
            connection.execute("INSERT INTO rows (body) VALUES (?)", (body,))
            times.append(time.perf_counter() - started)
        connection.close()
        return times


def fill(folder: str, count: int) -> Any:
    store = SessionStore(Path(folder), fail)
    for _ in range(count // SESSION_LENGTH):
        log = store.create(1.0)
        for entry in entries(log.session_id, SESSION_LENGTH):
            log.append(entry)
        log.close()
    store.close()
    return count


def list_sessions(folder: str) -> Any:
    started = time.perf_counter()
    store = SessionStore(Path(folder), fail)
    found = store.list()
    seconds = time.perf_counter() - started
    if not found:
        fail("nothing was listed")
    return seconds


def search(folder: str) -> Any:
    times: list[float] = []
    for query, expected in (("day 17", True), ("zebra", False)):
        started = time.perf_counter()
        store = SessionStore(Path(folder), fail)
        found = search_sessions(store, query, 20)
        times.append(time.perf_counter() - started)
        store.close()
        if bool(found) is not expected:
            fail(f"{query}: {len(found)} sessions")
    return max(times)


def main() -> None:
    match sys.argv[1:]:
        case ["append", count]:
            value = append(int(count))
        case ["commits", count]:
            value = commits(int(count))
        case ["fill", folder, count]:
            value = fill(folder, int(count))
        case ["list", folder]:
            value = list_sessions(folder)
        case ["search", folder]:
            value = search(folder)
        case _:
            sys.exit(str(__doc__))
    print(json.dumps({"value": value}))  # noqa: T201


if __name__ == "__main__":
    main()
