"""Damage costs what is damaged, is told, and leaves the original."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from support.session_logs import (
    DATABASE,
    EVENTS_OF_A_TURN,
    T0,
    body_of,
    damage_row,
    turn_events,
    write,
    write_session,
)

from agent_chat.core.events import DAMAGED, Entry, UnknownEvent
from agent_chat.core.state import State
from agent_chat.sessions.store import SessionStore

PAGE = 4096


LAST = 1 + 6 * EVENTS_OF_A_TURN
"""The seq of the last entry of a session of six turns."""
BREAK: dict[str, tuple[int, Callable[[str], object]]] = {
    "a-last-cut-in-half": (LAST, lambda body: body[: len(body) // 2]),
    "b-nul-bytes": (30, lambda body: "\x00" * len(body)),
    "c-not-json": (30, lambda body: "{not json}"),
    "not-text": (30, lambda body: b"\xff\xfe\x00{"),
    "a-number": (30, lambda body: 17),
    "deep": (30, lambda body: "[" * 100_000),
    "without-its-fields": (30, lambda body: '{"type": "user_message"}'),
    "without-its-type": (30, lambda body: '{"text": "x"}'),
}


@pytest.mark.parametrize("how", BREAK)
def test_r41_a_damaged_entry_costs_itself(
    store: SessionStore, folder: Path, problems: list[str], how: str
) -> None:
    session_id, entries = write_session(store, 6)
    seq, broken_by = BREAK[how]
    broken = broken_by(body_of(folder, seq))
    damage_row(folder, seq, "body", broken)

    log, loaded = store.resume(session_id)

    assert problems == [f"Session {session_id}: 1 damaged entry was skipped; all others are there."]
    assert [entry.seq for entry in loaded] == [entry.seq for entry in entries]
    for before, after in zip(entries, loaded, strict=True):
        if before.seq == seq:
            assert isinstance(after.event, UnknownEvent)
            assert after.event.type == DAMAGED
        else:
            assert after == before
    # The session goes on behind the damaged entry, which stays as it was found.
    more = write(log, turn_events(7), after=loaded[-1])
    log.close()
    assert store.read(session_id).entries == (*loaded, *more)
    connection = sqlite3.connect(folder / DATABASE)
    connection.text_factory = bytes
    [(kept,)] = connection.execute("SELECT body FROM events WHERE id & 4294967295 = ?", (seq,))
    connection.close()
    assert kept == (broken.encode() if isinstance(broken, str) else broken if broken != 17 else b"17")


def test_r41_a_damaged_place_is_that_of_the_entry_before(
    store: SessionStore, folder: Path, problems: list[str]
) -> None:
    session_id, entries = write_session(store, 3)
    for column in ("at", "turn", "iteration"):
        damage_row(folder, 30, column, b"\xff\x00")
    loaded = store.read(session_id).entries
    before = entries[28]
    assert loaded[29] == Entry(30, before.at, session_id, before.turn, before.iteration, entries[29].event)
    assert loaded[:29] == tuple(entries[:29])
    assert loaded[30:] == tuple(entries[30:])
    assert problems == []


def test_r41_entries_that_are_gone_leave_a_gap_and_no_seq_is_used_twice(
    store: SessionStore, folder: Path
) -> None:
    session_id, entries = write_session(store, 3)
    connection = sqlite3.connect(folder / DATABASE)
    with connection:
        connection.execute("DELETE FROM events WHERE id & 4294967295 BETWEEN 10 AND 15")
    connection.close()
    log, loaded = store.resume(session_id)
    state = State()
    for entry in loaded:
        state.apply(entry)
    more = write(log, turn_events(4), after=loaded[-1])
    log.close()
    assert state.seq == entries[-1].seq
    assert store.read(session_id).entries == (*entries[:9], *entries[15:], *more)


def nul_page(data: bytearray, number: int) -> None:
    data[number * PAGE : (number + 1) * PAGE] = bytes(PAGE)


def middle_page(data: bytearray) -> None:
    nul_page(data, len(data) // PAGE // 2)


def cut_in_half(data: bytearray) -> None:
    del data[len(data) // 2 :]


def first_page(data: bytearray) -> None:
    data[:PAGE] = b"\xa5" * PAGE


def header(data: bytearray) -> None:
    data[:100] = b"garbage!" * 12 + b"four"


def last_page(data: bytearray) -> None:
    nul_page(data, len(data) // PAGE - 1)


@pytest.mark.parametrize("damage", [middle_page, cut_in_half, first_page, header, last_page])
def test_r41_a_damaged_file_is_put_aside_and_read_as_far_as_possible(
    folder: Path, problems: list[str], damage: Callable[[bytearray], None]
) -> None:
    written = fill(folder, sessions=12, turns=8)
    path = folder / DATABASE
    data = bytearray(path.read_bytes())
    damage(data)
    path.write_bytes(data)

    store = SessionStore(folder, problems.append)
    read = {summary.id: store.read(summary.id) for summary in store.list()}
    kept = 0
    for session_id, loaded in read.items():
        original = {entry.seq: entry for entry in written[session_id]}
        wrong = [entry for entry in loaded.entries if original[entry.seq] != entry]
        assert len(wrong) == loaded.damaged <= 1
        assert all(isinstance(entry.event, UnknownEvent) for entry in wrong)
        kept += len(loaded.entries)
    total = sum(map(len, written.values()))
    assert kept >= total * (0.3 if damage is cut_in_half else 0.95)
    assert set(read) == set(written) or damage is cut_in_half
    log = store.create(T0)
    again = write(log, turn_events(1))
    log.close()
    assert store.read(log.session_id).entries == tuple(again)
    store.close()

    assert_sound(path)
    if damage is not header or problems:
        [copy] = folder.glob("sessions.damaged-*.db")
        assert copy.read_bytes() == bytes(data)
        assert copy.stat().st_mode & 0o77 == 0
        told = problems[0]
        assert str(copy) in told
        assert f"{kept:,} events of {len(read)} sessions" in told
    assert sorted(file.name for file in folder.iterdir() if "damaged" not in file.name) == [
        "locks",
        "sessions.db",
        "sessions.lock",
    ]


@pytest.mark.parametrize("content", [b"not a database\n" * 1000, b"\x00" * 50_000, b"SQLite format 3\x00"])
def test_r41_a_file_that_is_no_database_is_put_aside(
    folder: Path, problems: list[str], content: bytes
) -> None:
    folder.mkdir()
    (folder / DATABASE).write_bytes(content)
    store = SessionStore(folder, problems.append)
    session_id, entries = write_session(store, 2)
    assert store.read(session_id).entries == tuple(entries)
    store.close()
    [copy] = folder.glob("sessions.damaged-*.db")
    assert copy.read_bytes() == content
    assert len(problems) == 1
    assert_sound(folder / DATABASE)


def test_r41_damage_that_appears_while_a_session_runs(
    store: SessionStore, folder: Path, problems: list[str]
) -> None:
    log = store.create(T0)
    entries = write(log, [*turn_events(1), *turn_events(2)])
    connection = sqlite3.connect(folder / DATABASE)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    with (folder / DATABASE).open("r+b") as file:
        file.write(b"\xa5" * PAGE)
    more = write(log, turn_events(3), after=entries[-1])
    log.close()
    store.close()
    again = SessionStore(folder, problems.append)
    loaded = again.read(log.session_id).entries
    again.close()
    assert loaded == (*entries, *more)
    assert len([*folder.glob("sessions.damaged-*.db")]) == len(problems) == 1


def test_r41_a_running_session_survives_the_loss_of_everything_before(
    store: SessionStore, folder: Path, problems: list[str]
) -> None:
    write_session(store, 3)
    log = store.create(T0)
    entries = write(log, turn_events(1))
    # Somebody else wrote last: what this process remembers of the file does not count any more.
    other = sqlite3.connect(folder / DATABASE, isolation_level=None)
    other.execute("INSERT INTO results VALUES ('x', 'x', 0, 'x')")
    (folder / f"{DATABASE}-wal").write_bytes(b"\xa5" * 100_000)
    (folder / DATABASE).write_bytes(b"\xa5" * 100_000)
    more = write(log, [*turn_events(2), *turn_events(3)], after=entries[-1])
    log.close()
    store.close()
    other.close()
    again = SessionStore(folder, problems.append)
    assert [summary.id for summary in again.list()] == [log.session_id]
    assert again.read(log.session_id).entries[-len(more) :] == tuple(more)
    assert again.list() == [log.summary]
    again.close()
    assert len(problems) == 1


def test_r41_a_damaged_file_that_others_use_is_left_alone(folder: Path) -> None:
    fill(folder, sessions=2, turns=8)
    others = SessionStore(folder, lambda _: None)
    data = bytearray((folder / DATABASE).read_bytes())
    first_page(data)
    (folder / DATABASE).write_bytes(data)
    with pytest.raises(Exception, match="while other agent-chat processes have it open"):
        SessionStore(folder, lambda _: None, patience=0.05)
    assert (folder / DATABASE).read_bytes() == bytes(data)
    others.close()


def fill(folder: Path, *, sessions: int, turns: int) -> dict[str, list[Entry]]:
    """A database of several sessions, everything in one file."""
    store = SessionStore(folder, lambda _: None)
    written = dict(write_session(store, turns) for _ in range(sessions))
    store.close()
    assert [file.name for file in folder.iterdir() if file.name.endswith("-wal")] == []
    return written


def assert_sound(path: Path) -> None:
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
