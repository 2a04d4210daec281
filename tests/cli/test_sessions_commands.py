"""`agent-chat sessions search, export, import, fork, delete, prune`, as people and scripts use them."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest
from support.fixtures import Command, OpenTerminal
from support.session_logs import T0, started, turn_events, write, write_session

from agent_chat.core.events import ToolFinished, UserSaid
from agent_chat.sessions.store import SessionStore

NASTY = "needle [bold]x[/bold] \x1b[2J\x1b]0;pwn\x07 \x9b1A \u202e end"


@pytest.fixture
def store(home: Path) -> SessionStore:
    return SessionStore(home / ".local" / "state" / "agent-chat", lambda _: None)


def assert_harmless(text: str) -> None:
    assert [char for char in text if (ord(char) < 32 and char != "\n") or 0x7F <= ord(char) < 0xA0] == []
    assert "\u202e" not in text


def test_a_search_shows_sessions_and_passages(chat: Command, store: SessionStore, workspace: Path) -> None:
    here, _ = write_session(store, 4, workspace=str(workspace))
    elsewhere, _ = write_session(store, 1, workspace="/elsewhere")
    found = chat("sessions", "search", "ANSWER", TZ="UTC")
    assert (found.code, found.err) == (0, "")
    assert found.out.splitlines() == [
        f"{here}  2026-09-21 14:14  hi",
        "  4 passages, the last of them:",
        "  turn 2, answer: answer 2",
        "  turn 3, answer: answer 3",
        "  turn 4, answer: answer 4",
    ]
    everywhere = chat("sessions", "search", "answer", "1", "--all", "--limit", "1").out.splitlines()
    assert [everywhere[0].split()[0], everywhere[1:]] == [elsewhere, ["  turn 1, answer: answer 1"]]
    nothing = chat("sessions", "search", "zebra")
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err == f"Nothing was found in the sessions of {workspace}; try --all.\n"


def test_a_search_as_json(chat: Command, store: SessionStore) -> None:
    log = store.create(T0)
    write(log, [started("/w"), *turn_events(1, NASTY)])
    log.close()
    found = chat("sessions", "search", "needle", "--all", "--output", "json")
    told = json.loads(found.out)
    assert (told["schema_version"], told["query"]) == (1, "needle")
    [one] = told["sessions"]
    assert (one["session"]["id"], one["count"]) == (log.session_id, 1)
    [hit] = one["hits"]
    assert hit == {
        "seq": 3,
        "turn": 1,
        "at": "2026-09-21T14:13:23.000+00:00",
        "source": "user",
        "tool": "",
        "snippet": " ".join(NASTY.split()),
    }
    assert_harmless(found.out)


def test_r28_r29_a_search_shows_text_literally(chat: Command, store: SessionStore) -> None:
    log = store.create(T0)
    result = ToolFinished(call_id="c", name=NASTY, ok=True, content=NASTY, size=1, duration_s=0)
    write(log, [started("/w"), *turn_events(1, NASTY), result])
    log.close()
    found = chat("sessions", "search", "needle", "--all")
    assert "needle [bold]x[/bold] ␛[2J" in found.out
    assert_harmless(found.out)


def test_a_search_for_nothing_is_a_mistake(chat: Command) -> None:
    for query in ('""', "  ", ""):
        found = chat("sessions", "search", query)
        assert (found.code, found.out) == (2, "")
        assert "nothing to search for" in found.err
    assert chat("sessions", "search").code == 2


@pytest.mark.parametrize(
    ("args", "beginning"),
    [
        ((), "# hi\n"),
        (("--format", "html"), "<!DOCTYPE html>\n"),
        (("--format", "json"), '{"schema_version": 1, "type": "session", '),
    ],
)
def test_an_export_to_standard_output(
    chat: Command, store: SessionStore, args: tuple[str, ...], beginning: str
) -> None:
    session_id, _ = write_session(store, 1)
    done = chat("sessions", "export", session_id, *args)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(beginning)
    assert done.out.endswith("\n")


def test_an_export_to_a_file_goes_by_its_name_and_overwrites_nothing(
    chat: Command, store: SessionStore, workspace: Path
) -> None:
    session_id, _ = write_session(store, 1)
    for name, beginning in (("a.md", "# hi"), ("a.HTML", "<!DOCTYPE"), ("a.json", "{"), ("a.txt", "# hi")):
        done = chat("sessions", "export", session_id, "-o", name)
        assert (done.code, done.out) == (0, "")
        assert done.err == f"Session {session_id} is written to {name}.\n"
        assert (workspace / name).read_text(encoding="utf-8").startswith(beginning)
    again = chat("sessions", "export", session_id, "-o", "a.md", "--format", "html")
    assert (again.code, again.err.splitlines()[0]) == (2, "agent-chat: a.md already exists.")
    assert (workspace / "a.md").read_text(encoding="utf-8").startswith("# hi")
    assert chat("sessions", "export", session_id, "-o", "a.md", "--format", "html", "--force").code == 0
    assert (workspace / "a.md").read_text(encoding="utf-8").startswith("<!DOCTYPE")
    assert sorted(path.name for path in workspace.iterdir()) == ["a.HTML", "a.json", "a.md", "a.txt"]


def test_an_export_that_cannot_be_written_leaves_nothing(
    chat: Command, store: SessionStore, workspace: Path
) -> None:
    session_id, _ = write_session(store, 1)
    missing = chat("sessions", "export", session_id, "-o", "nowhere/a.md")
    assert missing.code == 2
    assert (
        missing.err.splitlines()[0]
        == "agent-chat: nowhere/a.md cannot be written: No such file or directory."
    )
    folder = chat("sessions", "export", session_id, "-o", str(workspace), "--force")
    assert folder.code == 2
    assert list(workspace.iterdir()) == []
    assert chat("sessions", "export", "nope").code == 2
    assert chat("sessions", "export", session_id, "--format", "pdf").code == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_export_to_a_full_disk_is_an_error(chat: Command, store: SessionStore, home: Path) -> None:
    import subprocess

    from support.process import clean_env

    session_id, _ = write_session(store, 1)
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [Path(sys.executable).parent / "agent-chat", "sessions", "export", session_id],
            stdout=full,
            stderr=subprocess.PIPE,
            env=clean_env(home),
            check=False,
        )
    assert done.returncode == 1
    assert b"No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr


def test_what_is_exported_can_be_imported(
    chat: Command, store: SessionStore, workspace: Path, tmp_path: Path
) -> None:
    session_id, entries = write_session(store, 2)
    assert chat("sessions", "export", session_id, "-o", "s.json").code == 0
    other = str(tmp_path / "other")
    first = chat("sessions", "import", "s.json", AGENT_CHAT_STATE_DIR=other)
    assert (first.code, first.out, first.err) == (0, f"{session_id}\n", "")
    piped = chat(
        "sessions", "import", "-", stdin=(workspace / "s.json").read_bytes(), AGENT_CHAT_STATE_DIR=other
    )
    new = piped.out.strip()
    assert new != session_id
    assert piped.err == f"There already is a session {session_id}: this one has a new id.\n"
    there = SessionStore(tmp_path / "other", lambda _: None)
    assert there.read(session_id).entries == tuple(entries)
    assert [entry.event for entry in there.read(new).entries] == [entry.event for entry in entries]
    there.close()
    shown = chat("sessions", "show", new, AGENT_CHAT_STATE_DIR=other)
    assert f"  imported, as session {session_id}\n" in shown.out


def test_what_cannot_be_imported_is_an_error(chat: Command, workspace: Path, store: SessionStore) -> None:
    (workspace / "bad.json").write_text('{"type": "session", "schema_version": 1, "session": {}}')
    for file, why in (
        ("bad.json", "This is not an exported session: session.id is not the id of a session."),
        ("missing.json", "missing.json cannot be read: No such file or directory."),
        (".", ". cannot be read: Is a directory."),
    ):
        done = chat("sessions", "import", file)
        assert (done.code, done.out, done.err.splitlines()[0]) == (2, "", f"agent-chat: {why}")
    assert store.list() == []


def test_a_fork_prints_its_id_and_says_where_it_is_from(chat: Command, store: SessionStore) -> None:
    session_id, entries = write_session(store, 3)
    done = chat("sessions", "fork", session_id[:15], "--turn", "2")
    new = done.out.strip()
    assert (done.code, done.err) == (0, f"`agent-chat -r {new}` goes on with it.\n")
    assert [entry.event for entry in store.read(new).entries] == [entry.event for entry in entries[:12]]
    assert f"  forked from session {session_id}\n" in chat("sessions", "show", new).out
    wrong = chat("sessions", "fork", session_id, "--turn", "9")
    assert (wrong.code, wrong.out) == (2, "")
    assert "no turn 9" in wrong.err
    assert chat("sessions", "fork", session_id, "--turn", "0").code == 2


def test_deleting_has_to_be_confirmed(chat: Command, store: SessionStore) -> None:
    one, _ = write_session(store, 1)
    two, _ = write_session(store, 1)
    refused = chat("sessions", "delete", one)
    assert (refused.code, len(store.list())) == (2, 2)
    assert "Add --yes." in refused.err
    done = chat("sessions", "delete", one, one, "--yes")
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("1 session deleted; the disk has ")
    assert [summary.id for summary in store.list()] == [two]
    assert chat("sessions", "delete", two, "nope", "--yes").code == 2
    assert [summary.id for summary in store.list()] == [two]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("answer", "left"), [("y", 0), ("n", 1), ("", 1)])
def test_on_a_terminal_it_asks_before_it_deletes(
    terminal: OpenTerminal, store: SessionStore, answer: str, left: int
) -> None:
    session_id, _ = write_session(store, 1)
    window = terminal("agent-chat", "sessions", "delete", session_id)
    window.wait_for("[y/N]")
    assert session_id in window.text
    window.send(f"{answer}\r")
    assert window.wait_exit() == 0
    assert len(store.list()) == left


def test_a_session_in_use_is_not_deleted(chat: Command, store: SessionStore) -> None:
    log = store.create(T0)
    write(log, [started(), *turn_events(1)])
    done = chat("sessions", "delete", log.session_id, "--yes")
    assert done.code == 2
    assert f"Session {log.session_id} is open in process {os.getpid()}." in done.err
    pruned = chat("sessions", "prune", "--older-than", "1h", "--yes")
    assert (pruned.code, pruned.err) == (0, "There is nothing to delete.\n")
    assert pruned.out.endswith("hi  (in use: it stays)\n")
    log.close()
    assert len(store.list()) == 1


def test_pruning_by_age_and_size(chat: Command, store: SessionStore) -> None:
    old, _ = write_session(store, 1, now=time.time() - 86_400 * 40)
    log = store.create(T0)
    write(log, [started(), *turn_events(1), UserSaid(text="x" * 50_000)])
    log.close()
    big = log.session_id
    dry = chat("sessions", "prune", "--larger-than", "20kB", "--dry-run")
    assert (dry.code, dry.err) == (0, "1 session would be deleted.\n")
    assert dry.out.split()[0] == big
    assert "kB  hi" in dry.out
    assert chat("sessions", "prune", "--older-than", "1d", "--larger-than", "1MB", "--yes").out == ""
    assert chat("sessions", "prune", "--older-than", "1d").code == 2
    assert {summary.id for summary in store.list()} == {old, big}
    done = chat("sessions", "prune", "--larger-than", "20 KB", "--yes")
    assert (done.code, done.err.split(";")[0]) == (0, "1 session deleted")
    assert [summary.id for summary in store.list()] == [old]
    assert chat("sessions", "prune", "--older-than", "10y", "--yes").err == "There is nothing to delete.\n"
    assert chat("sessions", "prune", "--older-than", "1w", "--yes").code == 0
    assert store.list() == []


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ((), "Which sessions?"),
        (("--older-than", "30"), "--older-than: '30' is not a time such as"),
        (("--older-than", "d"), "--older-than: 'd' is not"),
        (("--older-than", "-3d"), "--older-than: '-3d' is not"),
        (("--older-than", ""), "--older-than: '' is not"),
        (("--larger-than", "big"), "--larger-than: 'big' is not a size such as"),
        (("--larger-than", "1e9"), "--larger-than: '1e9' is not"),
        (("--larger-than", "٣MB"), "is not a size"),
    ],
)
def test_a_wrong_limit_is_a_mistake(chat: Command, args: tuple[str, ...], why: str) -> None:
    done = chat("sessions", "prune", *args, "--yes")
    assert (done.code, done.out) == (2, "")
    assert why in done.err


def test_what_an_imported_session_changed_elsewhere_is_not_undone_here(
    chat: Command, store: SessionStore, workspace: Path
) -> None:
    """An imported session may name any file of this machine."""
    import hashlib

    from agent_chat.core.events import FileChanged

    victim = workspace / "victim.txt"
    victim.write_text("precious")
    log = store.create(T0)
    changed = FileChanged(
        call_id="c",
        workspace=str(workspace),
        path="victim.txt",
        before=None,
        after=hashlib.sha256(b"precious").hexdigest(),
        added=1,
        removed=0,
    )
    write(log, [started(), *turn_events(1), changed])
    log.close()
    assert chat("sessions", "export", log.session_id, "-o", "s.json").code == 0
    new = chat("sessions", "import", "s.json").out.strip()
    for args in (("--force",), ()):
        undone = chat("sessions", "undo", new, *args)
        assert undone.code == 2
        assert "No change of a file is left to take back." in undone.err
    assert victim.read_text() == "precious"
    assert chat("sessions", "undo", log.session_id).code == 0
    assert not victim.exists()
