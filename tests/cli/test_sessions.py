"""`agent-chat sessions`: what people and scripts see of past sessions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.process import Result, clean_env, run
from support.session_logs import (
    T0,
    conversation,
    damage_row,
    place,
    started,
    turn_events,
    write,
    write_session,
)

from agent_chat.core.events import SessionEnded
from agent_chat.sessions.store import SessionStore

PROGRAM = """
import sys
from agent_chat.cli.sessions import app
from agent_chat.core.errors import UserError
try:
    app(standalone_mode=False)
except UserError as error:
    print(error.message, error.hint, sep=" | ", file=sys.stderr)
    sys.exit(2)
"""
NASTY = "see [/INST] [bold]x[/bold] [red \x1b[2J\x1b]0;pwn\x07 \x9b1A \u202e end"


@pytest.fixture
def state(home: Path) -> Path:
    return home / ".local" / "state" / "agent-chat"


@pytest.fixture
def store(state: Path) -> SessionStore:
    return SessionStore(state, lambda _: None)


def sessions(home: Path, *args: str, cwd: Path | None = None, state: str | None = None) -> Result:
    env = clean_env(home, TZ="UTC", AGENT_CHAT_STATE_DIR=state)
    return run([sys.executable, "-c", PROGRAM, *args], env=env, cwd=cwd)


def test_the_list_is_that_of_the_folder_unless_all_is_asked_for(
    home: Path, workspace: Path, store: SessionStore
) -> None:
    here, _ = write_session(store, 2, workspace=str(workspace))
    elsewhere, _ = write_session(store, 3, workspace="/else where")
    listed = sessions(home, "list", cwd=workspace)
    assert (listed.code, listed.err) == (0, "")
    [line] = listed.out.splitlines()
    assert line.split() == [here, *["2026-09-21", "14:13"], "2", "turns", "$1.0000", "hi"]
    everything = sessions(home, "list", "--all", cwd=workspace).out.splitlines()
    assert [line.split()[0] for line in everything] == [elsewhere, here]
    assert everything[0].endswith("hi  (/else where)")
    assert len(sessions(home, "list", "--all", "--limit", "1", cwd=workspace).out.splitlines()) == 1


def test_an_empty_list_says_so(home: Path, workspace: Path, store: SessionStore) -> None:
    assert sessions(home, "list", cwd=workspace).err == "There are no sessions yet.\n"
    write_session(store, 1, workspace="/elsewhere")
    nothing = sessions(home, "list", cwd=workspace)
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err == f"No sessions in {workspace}; --all shows others.\n"


def test_the_list_as_json(home: Path, store: SessionStore) -> None:
    log = store.create(T0)
    entries = write(log, [started("/w"), *turn_events(1, NASTY, cost_usd=None)])
    write(log, [SessionEnded(reason="eof")], after=entries[-1])
    log.close()
    listed = sessions(home, "list", "--all", "--output", "json")
    assert json.loads(listed.out) == {
        "schema_version": 1,
        "sessions": [
            {
                "id": log.session_id,
                "started": "2026-09-21T14:13:21.000+00:00",
                "last": "2026-09-21T14:13:33.000+00:00",
                "workspace": "/w",
                "model": "m",
                "title": NASTY,
                "turns": 1,
                "usage": {"prompt": 100, "cached": 20, "completion": 20, "reasoning": 0},
                "cost_usd": None,
                "ended": "eof",
            }
        ],
    }
    assert_harmless(listed.out)


def test_a_session_is_shown_turn_by_turn(home: Path, store: SessionStore) -> None:
    session_id, _ = write_session(store, 2)
    shown = sessions(home, "show", session_id[:12])
    assert (shown.code, shown.err) == (0, "")
    lines = shown.out.splitlines()
    assert lines[:4] == [
        f"Session {session_id}: hi",
        "  2026-09-21 14:13 to 2026-09-21 14:13, not left",
        "  folder /w, model m",
        "  200 + 40 tokens, cost $1.0000",
    ]
    assert lines[5:10] == [
        "── turn 1, 2026-09-21 14:13",
        "> hi",
        '* echo {"text": "a"}: ok in 0.1 s: a',
        "answer 1",
        "[completed: final_answer · 2 iterations · 100 + 20 tokens · $0.5000, 1.5 s]",
    ]
    assert "answer 2" in lines


def test_a_session_as_json_has_its_events(home: Path, store: SessionStore, state: Path) -> None:
    session_id, entries = write_session(store, 1)
    damage_row(state, 5, "body", "{not json}")
    shown = sessions(home, "show", session_id, "--output", "json")
    told = json.loads(shown.out)
    assert told["session"]["id"] == session_id
    assert told["damaged"] == 1
    assert "1 damaged entry was skipped" in shown.err
    expected = [json.loads(entry.to_json()) for entry in entries]
    assert told["events"][:4] + told["events"][5:] == expected[:4] + expected[5:]
    assert told["events"][4]["type"] == "damaged_entry"
    [turn] = told["turns"]
    assert (turn["said"], turn["answer"], turn["reason"]) == (["hi"], "answer 1", "final_answer")


def test_r28_r29_text_of_a_session_is_neither_markup_nor_acts_on_the_terminal(
    home: Path, store: SessionStore
) -> None:
    log = store.create(T0)
    events = [started("/[red]\x1b[1A", NASTY), *turn_events(1, NASTY)]
    nasty = [
        event.model_copy(update={"answer": NASTY, "name": NASTY, "content": NASTY, "arguments": {"x": NASTY}})
        if "answer" in type(event).model_fields or "content" in type(event).model_fields
        else event
        for event in events
    ]
    for entry in place(log.session_id, nasty):
        log.append(entry)
    log.close()
    for args in (["show", log.session_id], ["list", "--all"], ["show", log.session_id, "--output", "json"]):
        shown = sessions(home, *args)
        assert (shown.code, shown.err) == (0, "")
        assert "see [/INST] [bold]x[/bold] [red" in shown.out
        assert_harmless(shown.out)


def assert_harmless(text: str) -> None:
    assert [char for char in text if (ord(char) < 32 and char != "\n") or 0x7F <= ord(char) < 0xA0] == []
    assert "\u202e" not in text


def test_what_is_not_there_is_an_error_with_a_way_out(home: Path, store: SessionStore) -> None:
    session_id, _ = write_session(store, 1)
    missing = sessions(home, "show", session_id[:-1] + "!")
    assert (missing.code, missing.out) == (2, "")
    assert f"Did you mean {session_id}?" in missing.err
    nowhere = sessions(home, "list", state="/proc/nope")
    assert nowhere.code == 2
    assert "Set AGENT_CHAT_STATE_DIR" in nowhere.err


def test_making_the_command_imports_no_database_and_nothing_to_draw_with() -> None:
    program = (
        "import sys, agent_chat.cli.sessions\n"
        "print({'sqlite3', 'rich', 'pydantic', 'agent_chat.sessions.store'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_long_session_is_shown_whole(home: Path, store: SessionStore) -> None:
    session_id, _ = write_session(store, 60)
    assert len(conversation(60)) > 600
    shown = sessions(home, "show", session_id)
    assert [f"── turn {number}," in shown.out for number in range(1, 61)] == [True] * 60
