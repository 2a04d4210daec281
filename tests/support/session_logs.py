"""Session logs with something in them, and what is needed to break them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from agent_chat.core.events import (
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
)
from agent_chat.core.messages import ToolCall
from agent_chat.core.model import Usage
from agent_chat.sessions.log import SessionLog
from agent_chat.sessions.store import FILE_NAME, SessionStore

T0 = 1_790_000_000.0
"""Seconds since the epoch at which the logs of the tests begin."""
DATABASE = FILE_NAME


def started(workspace: str = "/w", model: str = "m") -> SessionStarted:
    return SessionStarted(program_version="1", workspace=workspace, system="s", model=model, tools=("echo",))


def turn_events(number: int, text: str = "hi", cost_usd: float | None = 0.25) -> list[Event]:
    """A turn of two iterations and one tool call; 100 prompt and 20 completion tokens."""
    usage = Usage(50, 10, 10, 0)
    call = ToolCall(f"c{number}", "echo", '{"text": "a"}')
    return [
        TurnStarted(),
        UserSaid(text=text),
        IterationStarted(),
        ModelReplied(
            model="m",
            text="",
            calls=(call,),
            finish_reason="tool_calls",
            usage=usage,
            cost_usd=cost_usd,
            duration_s=0.5,
        ),
        ToolStarted(
            call_id=call.id, name="echo", arguments={"text": "a"}, effect="read", idempotency_key="k"
        ),
        ToolFinished(call_id=call.id, name="echo", ok=True, content="a", size=1, duration_s=0.1),
        IterationEnded(duration_s=0.6),
        IterationStarted(),
        ModelReplied(
            model="m",
            text=f"answer {number}",
            finish_reason="stop",
            usage=usage,
            cost_usd=cost_usd,
            duration_s=0.5,
        ),
        IterationEnded(duration_s=0.6),
        TurnEnded(
            kind="completed",
            reason="final_answer",
            answer=f"answer {number}",
            evidence="",
            iterations=2,
            tool_calls=1,
            usage=usage + usage,
            cost_usd=None if cost_usd is None else 2 * cost_usd,
            duration_s=1.5,
        ),
    ]


EVENTS_OF_A_TURN = len(turn_events(1))


def place(session_id: str, events: Iterable[Event], *, after: Entry | None = None) -> list[Entry]:
    """Entries as a running session would write them, a second apart."""
    seq, turn, iteration = (after.seq, after.turn, after.iteration) if after else (0, 0, 0)
    placed: list[Entry] = []
    for event in events:
        seq += 1
        if isinstance(event, TurnStarted):
            turn, iteration = turn + 1, 0
        if isinstance(event, IterationStarted):
            iteration += 1
        placed.append(Entry(seq, T0 + seq, session_id, turn, iteration, event))
    return placed


def conversation(turns: int, workspace: str = "/w") -> list[Event]:
    return [started(workspace), *(event for number in range(1, turns + 1) for event in turn_events(number))]


def write(log: SessionLog, events: Iterable[Event], *, after: Entry | None = None) -> list[Entry]:
    """Appends events to a log and gives the entries."""
    entries = place(log.session_id, events, after=after)
    for entry in entries:
        log.append(entry)
    return entries


def write_session(
    store: SessionStore, turns: int, *, workspace: str = "/w", now: float = T0
) -> tuple[str, list[Entry]]:
    """A whole session, left open by a program that died: its id and its entries."""
    log = store.create(now)
    entries = write(log, conversation(turns, workspace))
    log.close()
    return log.session_id, entries


def damage_row(folder: Path, seq: int, column: str, value: object) -> None:
    """Overwrites a column of the entry with this seq, in every session."""
    connection = sqlite3.connect(folder / DATABASE)
    with connection:
        connection.execute(f"UPDATE events SET {column} = ? WHERE id & 4294967295 = ?", (value, seq))
    connection.close()


def body_of(folder: Path, seq: int) -> str:
    connection = sqlite3.connect(folder / DATABASE)
    body = connection.execute("SELECT body FROM events WHERE id & 4294967295 = ?", (seq,)).fetchone()[0]
    connection.close()
    return str(body)
