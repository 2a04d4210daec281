"""What was said and done is found again, with an index and without."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.session_logs import DATABASE, T0, damage_row, started, turn_events, write, write_session

from agent_chat.core.events import Event, ReplyInterrupted, ToolFinished, UserSaid
from agent_chat.sessions.connection import connect
from agent_chat.sessions.search import SHOWN, Found, Search, search_sessions
from agent_chat.sessions.search_index import FILE_NAME, SearchIndex
from agent_chat.sessions.searchable import LONGEST, folded, snippet, words_of
from agent_chat.sessions.store import SessionStore

Find = Callable[[str], list[Found]]


def say(store: SessionStore, *texts: str, workspace: str = "/w") -> str:
    log = store.create(T0)
    write(log, [started(workspace), *(event for text in texts for event in turn_events(1, text))])
    log.close()
    return log.session_id


@pytest.fixture(params=["indexed", "read"])
def find(request: pytest.FixtureRequest, store: SessionStore, folder: Path) -> Find:
    """Searches twice, so that the index knows all the second time; or without an index."""

    def indexed(query: str) -> list[Found]:
        first = search_sessions(store, query, 20)
        index = SearchIndex(folder / FILE_NAME)
        marks = index.marks()
        index.close()
        assert sum(seq for _, seq in marks.values()) == _events(folder)
        assert search_sessions(store, query, 20) == first
        return first

    def read(query: str) -> list[Found]:
        (folder / FILE_NAME).mkdir(exist_ok=True)  # a file that cannot be opened
        return search_sessions(store, query, 20)

    return indexed if request.param == "indexed" else read


def _events(folder: Path) -> int:
    connection = sqlite3.connect(folder / DATABASE)
    (count,) = connection.execute("SELECT count(*) FROM events").fetchone()
    connection.close()
    return int(count)


def ids(found: list[Found]) -> list[str]:
    return [one.session.id for one in found]


def test_every_word_has_to_be_in_one_event(store: SessionStore, find: Find) -> None:
    one = say(store, "The quick brown fox", "jumps over the lazy dog")
    two = say(store, "the brown DOG and the Fox")
    assert ids(find("fox")) == [two, one]
    assert ids(find("fox DOG")) == [two]
    assert ids(find('"brown fox"')) == [one]
    assert ids(find("rown")) == [two, one]
    assert find("cat") == []
    assert find("   ") == []
    assert find('""') == []


def test_a_hit_says_where_and_shows_its_surroundings(store: SessionStore, find: Find) -> None:
    session_id = say(store, "hello", f"{'before ' * 50}Needle\n{'after ' * 50}")
    [found] = find("needle")
    assert (found.session.id, found.count, found.session.turns) == (session_id, 1, 2)
    [hit] = found.hits
    assert (hit.turn, hit.source, hit.tool, hit.seq) == (2, "user", "", 14)
    assert hit.snippet.startswith("…")
    assert "before Needle after" in hit.snippet
    assert hit.snippet.endswith("…")


def test_answers_calls_results_and_what_was_interrupted_are_searched(store: SessionStore, find: Find) -> None:
    log = store.create(T0)
    events: list[Event] = [
        started(),
        *turn_events(1),
        ToolFinished(call_id="c", name="shell", ok=True, content="Zebra", size=5, duration_s=0.1),
        ReplyInterrupted(text="half an Ostrich"),
    ]
    write(log, events)
    log.close()
    sources = {word: [(hit.source, hit.tool) for hit in find(word)[0].hits] for word in ("zebra", "ostrich")}
    assert sources == {"zebra": [("result", "shell")], "ostrich": [("answer", "")]}
    assert [hit.source for hit in find("answer 1")[0].hits] == ["answer"]
    assert [(hit.source, hit.tool) for hit in find('echo "a"')[0].hits] == [("call", "echo")]
    assert find("call_id") == []  # the names of fields are nobody's words


@pytest.mark.parametrize(
    "query", ["咖啡馆", "咖啡", "馆", "CAFÉ", "страница", "ΟΔΟΣ", "İSTANBUL", "😀", "a\\b", "100%_", "x*y"]
)
def test_every_script_and_every_sign(store: SessionStore, find: Find, query: str) -> None:
    session_id = say(
        store, "Where is the café 咖啡馆? СТРАНИЦА οδος İstanbul 😀 a\\b 100%_ X*Y", "nothing: a/b 1000 xy"
    )
    assert [(one.session.id, one.count) for one in find(query)] == [(session_id, 1)]


def test_few_hits_of_a_session_are_shown_and_all_are_counted(store: SessionStore, find: Find) -> None:
    say(store, *(f"word {number}" for number in range(9)))
    [found] = find("word")
    assert found.count == 9
    assert [hit.snippet for hit in found.hits] == ["word 6", "word 7", "word 8"]
    assert len(found.hits) == SHOWN


def test_a_limit_and_a_folder(store: SessionStore) -> None:
    made = [say(store, "word", workspace=f"/{number % 2}") for number in range(6)]
    assert ids(search_sessions(store, "word", 2)) == [made[5], made[4]]
    assert ids(search_sessions(store, "word", 9, "/0")) == [made[4], made[2], made[0]]
    assert search_sessions(store, "word", 9, "/elsewhere") == []


def test_a_damaged_event_costs_itself(store: SessionStore, folder: Path, find: Find) -> None:
    session_id = say(store, "one word", "two words", "three words")
    damage_row(folder, 14, "body", '{"type": "user_message", "text": "two words')
    [found] = find("word")
    assert (found.session.id, found.count) == (session_id, 2)


def test_a_long_result_is_searched_at_both_ends(store: SessionStore, find: Find) -> None:
    say(store, f"first {'x' * LONGEST} middle {'x' * LONGEST} last")
    assert [len(find(word)) for word in ("first", "last", "middle")] == [1, 1, 0]


def test_what_is_new_is_found_at_once(store: SessionStore, folder: Path) -> None:
    log = store.create(T0)
    entries = write(log, [started(), UserSaid(text="first")])
    assert len(search_sessions(store, "first", 9)) == 1
    more = write(log, [UserSaid(text="second")], after=entries[-1])
    index = SearchIndex(folder / FILE_NAME)
    connection = connect(folder / DATABASE, "mode=ro")
    [found] = Search(connection, None).find("second", 9)
    assert [hit.seq for hit in found.hits] == [more[0].seq]
    [found] = Search(connection, index).find("second", 9)
    assert [hit.seq for hit in found.hits] == [more[0].seq]
    assert index.marks() == {1: (log.session_id, more[-1].seq)}
    log.close()
    connection.close()
    index.close()


def test_a_damaged_index_is_made_anew(store: SessionStore, folder: Path, problems: list[str]) -> None:
    session_id = say(store, "word")
    assert ids(search_sessions(store, "word", 9)) == [session_id]
    path = folder / FILE_NAME
    for damage in (b"no database at all" * 300, path.read_bytes()[:4096] + b"\xff" * 40_000):
        path.write_bytes(damage)
        for side in ("-wal", "-shm"):
            path.with_name(path.name + side).unlink(missing_ok=True)
        assert ids(search_sessions(store, "word", 9)) == [session_id]
        assert ids(search_sessions(store, "word", 9)) == [session_id]
        index = SearchIndex(path)
        assert list(index.marks().values()) == [(session_id, 12)]
        index.close()
    assert problems == []
    assert [path.name for path in folder.glob("*damaged*")] == []


def test_a_number_that_is_given_again_is_another_session(store: SessionStore, folder: Path) -> None:
    """The index may have missed that a session was deleted."""
    say(store, "word of the first")
    search_sessions(store, "word", 9)
    connection = sqlite3.connect(folder / DATABASE)
    with connection:
        connection.execute("DELETE FROM events")
        connection.execute("DELETE FROM sessions")
    connection.close()
    second = say(store, "thing of the second")
    assert search_sessions(store, "word", 9) == []
    assert ids(search_sessions(store, "thing", 9)) == [second]
    assert search_sessions(store, "first", 9) == []


def test_many_events_are_told_before_they_are_taken_in(store: SessionStore, folder: Path) -> None:
    write_session(store, 20)
    index = SearchIndex(folder / FILE_NAME)
    connection = connect(folder / DATABASE, "mode=ro")
    told: list[int] = []
    search = Search(connection, index, told.append, backlog=100, budget=0.0)
    assert len(search.find("answer", 9)) == 1
    assert told == [221]
    assert index.marks()[1][1] == 221
    assert len(search.find("answer", 9)) == 1
    assert told == [221]
    connection.close()
    index.close()


TEXT = st.text(alphabet='aAiIkKéÉßσςΣİ\u212a中 \\"%_*?[]^-\n\0', min_size=1, max_size=12)


@given(st.lists(TEXT, min_size=1, max_size=4), TEXT)
def test_the_index_finds_what_reading_finds(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], query: str
) -> None:
    folder = tmp_path_factory.mktemp("state")
    store = SessionStore(folder, lambda _: None)
    log = store.create(T0)
    write(log, [started(), *(UserSaid(text=text) for text in texts)])
    log.close()
    connection = connect(folder / DATABASE, "mode=ro")
    index = SearchIndex(folder / FILE_NAME)
    words = words_of(query)
    matching = sum(bool(words) and all(word in folded(text) for word in words) for text in texts)
    for helped in (None, index):
        found = Search(connection, helped).find(query, 9)
        assert sum(one.count for one in found) == matching
    assert index.marks() == ({1: (log.session_id, len(texts) + 1)} if words else {})
    index.close()
    connection.close()
    store.close()


def test_words_and_phrases() -> None:
    assert words_of('  Foo "bar  Baz" qux" ') == ("foo", "bar  baz", "qux")
    assert words_of("a A") == ("a",)
    assert snippet("short\ntext", ("text",)) == "short text"
