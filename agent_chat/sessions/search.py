"""Finds what was said and done in past sessions.

What the index knows is asked of the index; the rest of the log is read through. Every search takes a little
more into the index, so that what has to be read stays small; without an index all of it is read.
"""

from __future__ import annotations

import heapq
import json
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from agent_chat.core.text import storable
from agent_chat.sessions.rows import (
    SUMMARY_COLUMNS,
    event_id,
    event_range,
    event_seq,
    read_summary,
    session_number,
)
from agent_chat.sessions.search_index import FILE_NAME, IndexUnusable, SearchIndex
from agent_chat.sessions.searchable import SOURCES, Source, folded, passage_of, snippet, words_of
from agent_chat.sessions.store import SessionStore
from agent_chat.sessions.summary import SessionSummary

SHOWN = 3
"""Passages that are shown of one session."""
_BATCH = 500
"""Events that are taken into the index at once."""

_TYPES = ", ".join(f"'{kind}'" for kind in SOURCES)


@dataclass(frozen=True, slots=True)
class Hit:
    """An event that holds all words of a query."""

    seq: int
    turn: int
    at: float
    """Seconds since the epoch."""
    source: Source
    tool: str
    """The tool's name; empty where it is not about a tool."""
    snippet: str
    """One line; not safe to print as it is."""


@dataclass(frozen=True, slots=True)
class Found:
    """A session with hits."""

    session: SessionSummary
    hits: tuple[Hit, ...]
    """The latest of them, at most `SHOWN`, in the order in which they happened."""
    count: int
    """How many there are."""


@dataclass(slots=True)
class _Session:
    number: int
    id: str
    last_seq: int
    indexed: int = 0
    """The seq up to which the index knows it."""


@dataclass(slots=True)
class Search:
    """Searches one database, with the help of an index where there is one."""

    connection: sqlite3.Connection
    index: SearchIndex | None
    on_backlog: Callable[[int], None] = field(default=lambda events: None)
    """Is told how many events are taken into the index, where that takes a while."""
    budget: float = 0.05
    """Seconds that a search spends on bringing the index up to date."""
    backlog: int = 250_000
    """Events that a search reads through at most; of more than these it first takes all into the index."""

    def find(self, query: str, limit: int, workspace: str | None = None) -> list[Found]:
        """The sessions with events that hold every word of the query, the latest session first.

        None is every workspace. Raises sqlite3.Error where the database cannot be read.
        """
        words = words_of(storable(query))
        if not words:
            return []
        try:
            return self._find(words, limit, workspace)
        except IndexUnusable:
            self.index = None
            return self._find(words, limit, workspace)

    def _find(self, words: tuple[str, ...], limit: int, workspace: str | None) -> list[Found]:
        sessions = self._sessions()
        if self.index is not None:
            self._catch_up(self.index, sessions)
        wanted = self._wanted(workspace)
        found: list[Found] = []
        for number, events in groupby(self._matches(words, sessions), session_number):
            if wanted is not None and number not in wanted:
                continue
            one = self._found(number, events, words)
            if one is not None:
                found.append(one)
            if len(found) == limit:
                break
        return found

    def _sessions(self) -> list[_Session]:
        rows = self.connection.execute(
            "SELECT number, id, (SELECT max(id) FROM events WHERE id BETWEEN number << 32 AND"
            " (number << 32) + 4294967295) FROM sessions ORDER BY number"
        )
        return [_Session(number, name, event_seq(last or 0)) for number, name, last in rows]

    def _wanted(self, workspace: str | None) -> set[int] | None:
        if workspace is None:
            return None
        rows = self.connection.execute("SELECT number FROM sessions WHERE workspace = ?", (workspace,))
        return {row[0] for row in rows}

    def _catch_up(self, index: SearchIndex, sessions: list[_Session]) -> None:
        self._compare(index, sessions)
        behind = sum(one.last_seq - one.indexed for one in sessions)
        give_up = time.monotonic() + self.budget
        if behind > self.backlog:
            self.on_backlog(behind)
            give_up = float("inf")
        for one in sessions:
            while one.indexed < one.last_seq and time.monotonic() < give_up:
                self._take_in(index, one)

    def _compare(self, index: SearchIndex, sessions: list[_Session]) -> None:
        marks = index.marks()
        for one in sessions:
            name, seq = marks.get(one.number, (one.id, 0))
            if name == one.id:
                one.indexed = min(seq, one.last_seq)
                marks.pop(one.number, None)
        if marks:  # deleted, and perhaps another session has its number now
            index.forget(marks)

    def _take_in(self, index: SearchIndex, one: _Session) -> None:
        upto = min(one.indexed + _BATCH, one.last_seq)
        rows = self.connection.execute(
            f"SELECT id, CAST(body AS BLOB) FROM events WHERE id BETWEEN ? AND ? AND type IN ({_TYPES})",
            (event_id(one.number, one.indexed + 1), event_id(one.number, upto)),
        )
        passages = ((event, passage_of(body)) for event, body in rows)
        texts = [(event, folded(passage.text)) for event, passage in passages if passage]
        index.add(one.number, one.id, texts, upto)
        one.indexed = upto

    def _matches(self, words: tuple[str, ...], sessions: list[_Session]) -> Iterator[int]:
        """Ids of events, the latest session's first."""
        unread = self._read_through(words, sessions)
        return heapq.merge(self._indexed(words, sessions), unread, reverse=True)

    def _indexed(self, words: tuple[str, ...], sessions: list[_Session]) -> Iterator[int]:
        if self.index is None:
            return
        known = {one.number: one.indexed for one in sessions}
        for event in self.index.find(words):
            # Another process may have taken in more meanwhile, or a session be gone.
            if event_seq(event) <= known.get(session_number(event), 0):
                yield event

    def _read_through(self, words: tuple[str, ...], sessions: list[_Session]) -> Iterator[int]:
        written = [json.dumps(word, ensure_ascii=False)[1:-1] for word in words]
        plain = [*filter(_is_plain, written)]
        query = (
            f"SELECT id, CAST(body AS BLOB) FROM events WHERE id BETWEEN ? AND ? AND type IN ({_TYPES})"
            + " AND body LIKE ? ESCAPE '\\'" * len(plain)
            + " ORDER BY id DESC"
        )
        for first, last in _ranges(sessions):
            for event, body in self.connection.execute(query, (first, last, *map(_pattern, plain))):
                if len(plain) < len(words) and not _may_hold(body, written):
                    continue
                passage = passage_of(body)
                if passage is not None and _holds(passage.text, words):
                    yield event

    def _found(self, number: int, events: Iterator[int], words: tuple[str, ...]) -> Found | None:
        row = self.connection.execute(
            f"SELECT {SUMMARY_COLUMNS} FROM sessions WHERE number = ?", (number,)
        ).fetchone()
        ids = list(events)
        hits = [hit for event in ids[:SHOWN] if (hit := self._hit(event, words)) is not None]
        return Found(read_summary(row), tuple(reversed(hits)), len(ids)) if row and hits else None

    def _hit(self, event: int, words: tuple[str, ...]) -> Hit | None:
        row = self.connection.execute(
            "SELECT turn, at, CAST(body AS BLOB) FROM events WHERE id = ?", (event,)
        ).fetchone()
        passage = passage_of(row[2]) if row else None
        if passage is None:
            return None
        turn, at = (value if isinstance(value, (int, float)) else 0 for value in row[:2])
        text = snippet(passage.text, words)
        return Hit(event_seq(event), int(turn), float(at), passage.source, passage.tool, text)


def search_sessions(
    store: SessionStore,
    query: str,
    limit: int,
    workspace: str | None = None,
    on_backlog: Callable[[int], None] = lambda events: None,
) -> list[Found]:
    """`Search.find` in a store. Raises StoreUnavailable."""
    try:
        index = SearchIndex(store.folder / FILE_NAME)
    except IndexUnusable:
        index = None
    try:
        return store.ask(
            lambda connection: Search(connection, index, on_backlog).find(query, limit, workspace)
        )
    finally:
        if index is not None:
            index.close()


def _holds(text: str, words: Sequence[str]) -> bool:
    text = folded(text)
    return all(word in text for word in words)


def _may_hold(body: bytes, written: Sequence[str]) -> bool:
    """Whether an event is worth being taken apart. `written`: the words as JSON writes them."""
    return _holds(body.decode("utf-8", "replace"), written)


def _pattern(written: str) -> str:
    return "%" + re.sub(r"([%_\\])", r"\\\1", written) + "%"


def _is_plain(written: str) -> bool:
    """Whether SQLite can look for it, which knows no capitals but those of ASCII."""
    return all(char.isascii() or char.lower() == char.upper() for char in written)


def _ranges(sessions: list[_Session]) -> Iterator[tuple[int, int]]:
    """The ids of events that the index does not know, the latest first; what lies side by side at once."""
    open_range: tuple[int, int] | None = None
    for one in reversed(sessions):
        if one.indexed >= one.last_seq:
            continue
        first, last = event_id(one.number, one.indexed + 1), event_range(one.number)[1]
        if (
            open_range is not None
            and one.number == session_number(open_range[0]) - 1
            and (event_seq(open_range[0]) == 1)
        ):
            open_range = (first, open_range[1])
            continue
        if open_range is not None:
            yield open_range
        open_range = (first, last)
    if open_range is not None:
        yield open_range
