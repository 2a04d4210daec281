"""Sessions on the disk: damaged, shared by processes, or with no place to be kept in."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.fixtures import Command, ProviderFactory
from support.flows import log_of, said, session_ids, state_folder, user_texts
from support.process import Program, Result, clean_env, run
from support.provider import FIN, HANG, OK, REPEAT, TC, T

as_root = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or shutil.which("setpriv") is None,
    reason="needs root, to run as somebody else",
)
SOMEBODY = ("setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups")
"""A user without an entry in the user database."""


def six_turns(chat: Command, provider: ProviderFactory, home: Path) -> Path:
    """A session of six turns, each with a tool call; the path of its database."""
    call = [TC(0, "c1", "calc", '{"expression":"1+1"}'), FIN("tool_calls")]
    server = provider(*[call, [T("answer"), FIN("stop")]] * 6, strict=True)
    assert chat(provider=server, stdin=b"".join(b"turn %d\n" % n for n in range(1, 7))).code == 0
    return state_folder(home) / "sessions.db"


def damage(path: Path, event_type: str, which: int, body: str | bytes) -> None:
    """Overwrites the body of one entry of this type; -1 is the last."""
    database = sqlite3.connect(path)
    rows = database.execute(
        "SELECT rowid FROM events WHERE json_extract(body, '$.type') = ? ORDER BY rowid", (event_type,)
    ).fetchall()
    database.execute("UPDATE events SET body = ? WHERE rowid = ?", (body, rows[which][0]))
    database.commit()
    database.close()


@pytest.mark.parametrize(
    ("event_type", "which", "body"),
    [
        pytest.param("turn_ended", -1, '{"type":"turn_ended","kind":"comp', id="a-cut"),
        pytest.param("tool_finished", 2, b"\0" * 120, id="b-null-bytes"),
        pytest.param("model_replied", 4, "{not json}", id="c-not-json"),
    ],
)
def test_r41_a_damaged_entry_costs_itself(
    chat: Command, provider: ProviderFactory, home: Path, event_type: str, which: int, body: str | bytes
) -> None:
    path = six_turns(chat, provider, home)
    damage(path, event_type, which, body)
    server = provider(OK, strict=True)
    result = chat("-c", provider=server, stdin=b"hi\n")
    assert (result.stdout, result.code) == (b"ok\n", 0)
    assert "1 damaged entry was skipped" in result.err
    asked = [text for role, text in said(server.bodies[0]) if role == "user"]
    assert asked == [f"turn {number}" for number in range(1, 7)] + ["hi"]


def test_r41_a_database_with_a_damaged_page_is_copied_and_mended(
    chat: Command, provider: ProviderFactory, home: Path
) -> None:
    path = six_turns(chat, provider, home)
    original = path.read_bytes()
    middle = len(original) - 2 * 4096  # in the latest events but one page
    path.write_bytes(original[:middle] + b"\0" * 4096 + original[middle + 4096 :])
    server = provider(OK, strict=True)
    result = chat("-c", provider=server, stdin=b"hi\n")
    assert (result.stdout, result.code) == (b"ok\n", 0)
    assert "damaged" in result.err
    (copy,) = (file for file in path.parent.rglob("*") if file.is_file() and str(file) in result.err)
    assert copy.read_bytes()[middle : middle + 4096] == b"\0" * 4096
    assert user_texts(log_of(home))[-1] == "hi"


def test_r41_a_file_that_is_no_database(single: Command, provider: ProviderFactory, home: Path) -> None:
    path = state_folder(home) / "sessions.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"these are not the sessions you are looking for\n" * 100)
    result = single("hi", provider=provider(OK))
    assert (result.stdout, result.code) == (b"ok\n", 0)
    assert "damaged" in result.err
    assert "Traceback" not in result.err
    assert user_texts(log_of(home)) == ["hi"]


def test_r42_two_processes_on_one_session(
    chat: Command, single: Command, provider: ProviderFactory, home: Path, workspace: Path
) -> None:
    server = provider(OK, HANG, OK, strict=True)
    with Program(["agent-chat"], env=clean_env(home, server), cwd=workspace) as owner:
        owner.send(b"one\n")
        owner.wait_for_output("ok\n")
        (session,) = session_ids(home)
        for args in (("-r", session), ("-c",)):
            result = single(*args, "two", provider=server)
            assert (result.stdout, result.code) == (b"", 2)
            assert str(owner.pid) in result.err
        assert len(server.requests) == 1
        owner.send(b"three\n")
        server.wait_for_request(2)
        owner.kill()
    result = chat("-r", session, provider=server, stdin=b"four\n")
    assert (result.stdout, result.stderr, result.code) == (b"ok\n", b"", 0)
    assert user_texts(log_of(home, session)) == ["one", "three", "four"]


def test_r42_twenty_at_once(single: Command, provider: ProviderFactory, home: Path) -> None:
    server = provider(REPEAT(OK))

    def ask(number: int) -> Result:
        return single(f"number {number}", provider=server, timeout=60)

    with ThreadPoolExecutor(20) as pool:
        results = list(pool.map(ask, range(20)))
    assert {(result.stdout, result.stderr, result.code) for result in results} == {(b"ok\n", b"", 0)}
    sessions = session_ids(home)
    assert len(sessions) == 20
    texts = sorted(text for session in sessions for text in user_texts(log_of(home, session)))
    assert texts == sorted(f"number {number}" for number in range(20))


NO_XDG = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"))


def answers_with_one_warning(result: Result) -> None:
    assert (result.stdout, result.code) == (b"ok\n", 0), result.err
    assert "Traceback" not in result.err
    assert len(result.err.splitlines()) <= 1


def test_r43_a_home_that_is_not_there(single: Command, chat: Command, provider: ProviderFactory) -> None:
    server = provider(REPEAT(OK))
    answers_with_one_warning(single("hi", provider=server, HOME="/proc/nope", **NO_XDG))
    answers_with_one_warning(chat(provider=server, stdin=b"hi\n", HOME="/proc/nope", **NO_XDG))


def test_r43_a_continued_session_needs_sessions(single: Command, provider: ProviderFactory) -> None:
    result = single("-c", "hi", provider=provider(), HOME="/proc/nope", **NO_XDG)
    assert (result.stdout, result.code) == (b"", 2)
    assert "Traceback" not in result.err


@as_root
def test_r43_nobody_s_home(provider: ProviderFactory, home: Path) -> None:
    server = provider(REPEAT(OK))
    env = clean_env(home, server, HOME=None, **NO_XDG)
    for command, stdin in ((("agent-single", "hi"), b""), (("agent-chat",), b"hi\n")):
        answers_with_one_warning(run([*SOMEBODY, *command], env=env, stdin=stdin, cwd=Path("/")))


@as_root
def test_r43_folders_of_somebody_else(provider: ProviderFactory) -> None:
    server = provider(REPEAT(OK))
    # The folders of pytest are closed to others.
    home = Path("/tmp") / f"agent-chat-test-{os.getpid()}"
    folders = [home / ".config" / "agent-chat", home / ".local" / "state" / "agent-chat"]
    try:
        for folder in folders:
            folder.mkdir(parents=True)
            folder.chmod(0o555)
        env = clean_env(home, server)
        for command, stdin in ((("agent-single", "hi"), b""), (("agent-chat",), b"hi\n")):
            answers_with_one_warning(run([*SOMEBODY, *command], env=env, stdin=stdin, cwd=Path("/")))
        assert not [*folders[0].iterdir(), *folders[1].iterdir()]
        home.chmod(0o700)
        result = run([*SOMEBODY, "agent-single", "hi"], env=env, cwd=Path("/"))
        assert (result.stdout, result.code) == (b"ok\n", 0), result.err
    finally:
        shutil.rmtree(home)
