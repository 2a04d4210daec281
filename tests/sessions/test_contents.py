"""What files held before they were changed: kept once, found by its hash, never mistaken."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

import pytest

from agent_chat.core.ports import ContentStore
from agent_chat.sessions import schema
from agent_chat.sessions.contents import MemoryContents, OverlaidContents
from agent_chat.sessions.recovery import recover
from agent_chat.sessions.store import SessionStore

CONTENTS = [b"", b"\0\xff\xfe\x1b[2J", "日本\r\n".encode("utf-16"), b"x" * 5_000_000]


@pytest.fixture(params=["stored", "memory", "overlaid"])
def contents(request: pytest.FixtureRequest, store: SessionStore) -> ContentStore:
    match request.param:
        case "stored":
            return store.contents
        case "memory":
            return MemoryContents()
        case _:
            return OverlaidContents(store.contents)


@pytest.mark.parametrize("content", CONTENTS, ids=len)
def test_any_content_comes_back_byte_for_byte(contents: ContentStore, content: bytes) -> None:
    name = contents.put(content)
    assert name == hashlib.sha256(content).hexdigest() == contents.put(content)
    assert contents.get(name) == content
    assert contents.get(hashlib.sha256(b"another").hexdigest()) is None
    assert contents.get("'; --") is None


def test_they_outlive_the_process_and_are_read_below_memory(store: SessionStore, folder: Path) -> None:
    name = store.contents.put(b"kept")
    store.close()
    again = SessionStore(folder, lambda _: None)
    assert again.contents.get(name) == OverlaidContents(again.contents).get(name) == b"kept"
    again.close()


def test_a_damaged_content_is_as_good_as_not_there(store: SessionStore, folder: Path) -> None:
    names = [store.contents.put(text) for text in (b"one", b"two")]
    connection = sqlite3.connect(folder / "sessions.db")
    with connection:
        connection.execute("UPDATE contents SET body = ? WHERE id = ?", (b"no zlib", names[0]))
        connection.execute(
            "UPDATE contents SET body = (SELECT zeroblob(4)) WHERE id = ?",
            (names[1],),
        )
    connection.close()
    assert [store.contents.get(name) for name in names] == [None, None]


def test_what_cannot_be_saved_is_kept_in_memory_and_said_once(
    store: SessionStore, folder: Path, problems: list[str]
) -> None:
    other = sqlite3.connect(folder / "sessions.db", isolation_level=None)
    other.execute("DROP TABLE contents")
    other.close()
    names = [store.contents.put(text) for text in (b"one", b"two")]
    assert [store.contents.get(name) for name in names] == [b"one", b"two"]
    [problem] = problems
    assert problem.startswith("Changes of files can be undone only while the program runs:")


def test_they_are_saved_from_a_damaged_database(store: SessionStore, folder: Path) -> None:
    name = store.contents.put(b"kept")
    store.close()
    recover(folder / "sessions.db")
    again = SessionStore(folder, lambda _: None)
    assert again.contents.get(name) == b"kept"
    again.close()


def test_a_database_of_the_first_version_gets_the_table(folder: Path) -> None:
    folder.mkdir()
    old = sqlite3.connect(folder / "sessions.db", isolation_level=None)
    for statement in schema.MIGRATIONS[0]:
        old.execute(statement)
    old.execute("PRAGMA user_version = 1")
    old.close()
    store = SessionStore(folder, lambda _: None)
    assert store.contents.get(store.contents.put(b"kept")) == b"kept"
    store.close()
