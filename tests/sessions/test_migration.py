"""Databases of earlier releases go on working, and lose nothing."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from support.session_logs import DATABASE, T0, turn_events, write

from agent_chat.sessions import schema
from agent_chat.sessions.fork import fork_session
from agent_chat.sessions.search import search_sessions
from agent_chat.sessions.store import SessionStore

DATA = Path(__file__).parent / "data"
"""`schema_N.db` was written by a program whose database was of version N; `schema_N.json` says what."""
VERSIONS = (2,)


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest, folder: Path) -> int:
    """Puts the database of a version in its place."""
    folder.mkdir()
    shutil.copy(DATA / f"schema_{request.param}.db", folder / DATABASE)
    return int(request.param)


def expected(version: int) -> dict[str, Any]:
    return json.loads((DATA / f"schema_{version}.json").read_text(encoding="utf-8"))


def test_every_earlier_version_but_the_first_is_tested() -> None:
    assert tuple(range(2, schema.VERSION)) == VERSIONS


def test_a_database_of_an_earlier_version_keeps_all_it_had(
    version: int, folder: Path, problems: list[str]
) -> None:
    was = expected(version)
    store = SessionStore(folder, problems.append)
    for session_id, entries in zip(was["ids"], was["entries"], strict=True):
        read = [json.loads(entry.to_json()) for entry in store.read(session_id).entries]
        # An event may have got fields since; those it had are as they were.
        kept = [{key: now[key] for key in old} for now, old in zip(read, entries, strict=True)]
        assert kept == entries
    assert [summary.id for summary in store.list()] == was["ids"]
    assert store.results.get(was["result"]) == "a long result\n" * 50
    assert store.contents.get(was["content"]) == b"print('before')\n"
    log, entries = store.resume(was["ids"][0])
    write(log, turn_events(3), after=entries[-1])
    log.close()
    copy = fork_session(store, was["ids"][0], T0)
    assert len(store.read(copy).entries) == len(entries) + len(turn_events(3))
    assert [found.session.id for found in search_sessions(store, "咖啡", 9)] == [copy, was["ids"][0]]
    store.close()
    connection = sqlite3.connect(folder / DATABASE)
    assert connection.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)
    connection.close()
    assert problems == []


def test_a_damaged_database_of_an_earlier_version_is_recovered(
    version: int, folder: Path, problems: list[str]
) -> None:
    was = expected(version)
    path = folder / DATABASE
    path.write_bytes(b"\xff" * 4096 + path.read_bytes()[4096:])
    store = SessionStore(folder, problems.append)
    assert [summary.id for summary in store.list()] == was["ids"]
    assert store.results.get(was["result"]) == "a long result\n" * 50
    assert store.contents.get(was["content"]) == b"print('before')\n"
    store.close()
    assert len(problems) == 1
    assert "The session database was damaged" in problems[0]
