"""Whole tool results: kept once, found by an id that follows from the text."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

import pytest

from agent_chat.core.ports import ResultStore
from agent_chat.sessions.results import MemoryResults
from agent_chat.sessions.store import SessionStore


@pytest.fixture(params=["stored", "memory"])
def results(request: pytest.FixtureRequest, store: SessionStore) -> ResultStore:
    return store.results if request.param == "stored" else MemoryResults()


def test_the_same_text_has_the_same_id(results: ResultStore) -> None:
    first = results.put("some text")
    assert first == hashlib.sha256(b"some text").hexdigest()[:12]
    assert results.put("some text") == first
    assert results.put("another") != first
    assert results.get(first) == "some text"
    assert results.get("000000000000") is None
    assert results.get("\ud800'; --") is None


@pytest.mark.parametrize("text", ["", "a\x00b\x1b[2J", "日本語 🧑‍🔧", "x" * 5_000_000], ids=len)
def test_any_text_comes_back_as_it_was(results: ResultStore, text: str) -> None:
    assert results.get(results.put(text)) == text


def test_a_lone_surrogate_is_replaced(results: ResultStore) -> None:
    assert results.get(results.put("a\ud800b")) == "a\ufffdb"


def test_results_outlive_the_process(store: SessionStore, folder: Path) -> None:
    result_id = store.results.put("kept")
    store.close()
    again = SessionStore(folder, lambda _: None)
    assert again.results.get(result_id) == "kept"
    again.close()


def test_an_id_that_another_text_has_is_made_longer(store: SessionStore, folder: Path) -> None:
    name = hashlib.sha256(b"mine").hexdigest()
    connection = sqlite3.connect(folder / "sessions.db")
    with connection:
        connection.execute("INSERT INTO results VALUES (?, ?, 0, 'theirs')", (name[:12], b"other"))
    connection.close()
    assert store.results.put("mine") == name[:24]
    assert store.results.put("mine") == name[:24]
    assert store.results.get(name[:24]) == "mine"
    assert store.results.get(name[:12]) == "theirs"
