"""Slash commands about sessions: what is found, copied, written down, counted, and gone on with."""

from __future__ import annotations

import json
from pathlib import Path

from support.fixtures import Command, ProviderFactory
from support.flows import log_of, of_type, said, session_ids, user_texts
from support.provider import FIN, OK, USE, T

from agent_chat.sessions.transfer import read_exported


def test_a_session_goes_on_in_a_copy_from_before_a_turn(
    chat: Command, provider: ProviderFactory, home: Path
) -> None:
    server = provider(OK, OK, OK, strict=True)
    done = chat(provider=server, stdin=b"first\nsecond\n/fork 2\nother\n")
    assert (done.code, done.out.count("ok\n")) == (0, 3)
    copy, original = session_ids(home)
    assert f"Going on in session {copy}; {original} stays as it is." in done.err
    assert said(server.bodies[2]) == [("user", "first"), ("assistant", "ok"), ("user", "other")]
    assert user_texts(log_of(home, original)) == ["first", "second"]
    assert user_texts(log_of(home, copy)) == ["first", "other"]
    [ended] = of_type(log_of(home, original), "session_ended")
    assert ended.reason == "exit"


def test_past_sessions_are_found_and_gone_on_with_by_number(
    chat: Command, provider: ProviderFactory, home: Path
) -> None:
    assert chat(provider=provider(OK), stdin=b"about zebras\n").code == 0
    [first] = session_ids(home)
    assert chat(provider=provider(OK), stdin=b"about horses\n").code == 0
    server = provider(OK, strict=True)
    done = chat(provider=server, stdin=b"/sessions ZEBRA\n/resume 1\ngo on\n")
    assert done.code == 0
    assert f" 1  {first}" in done.err
    assert "    about zebras" in done.err
    assert said(server.bodies[0])[0::2] == [("user", "about zebras"), ("user", "go on")]
    wrong = chat(provider=provider(), stdin=b"/resume 7\n/fork 3\n/sessions\n")
    assert "There is no session '7'." in wrong.err
    assert "There is no turn 3 in this session." in wrong.err


def test_the_running_session_is_written_to_a_file(
    chat: Command, provider: ProviderFactory, home: Path, workspace: Path
) -> None:
    lines = b"hello\n/export\n/export html page.html\n/export my notes.json\n/export json my notes.json\n"
    done = chat(provider=provider([T("**hi**"), FIN("stop")]), stdin=lines)
    [session_id] = session_ids(home)
    assert done.code == 0
    assert (workspace / f"agent-chat-{session_id}.md").read_text(encoding="utf-8").startswith("# hello\n")
    assert "<strong>hi</strong>" in (workspace / "page.html").read_text(encoding="utf-8")
    exported = read_exported((workspace / "my notes.json").read_bytes())
    assert exported.session_id == session_id
    assert exported.entries == log_of(home)[: len(exported.entries)]
    assert f"This session is written to {workspace / 'page.html'}." in done.err
    assert "my notes.json already exists." in done.err


def test_a_session_that_is_not_kept_can_be_written_down_but_not_copied(
    chat: Command, provider: ProviderFactory, workspace: Path
) -> None:
    done = chat("--no-session", provider=provider(OK), stdin=b"hello\n/fork\n/sessions\n/export a.json\n")
    assert done.code == 0
    assert "Sessions are not kept here" in done.err
    assert "There are no past sessions." in done.err
    told = json.loads((workspace / "a.json").read_text(encoding="utf-8"))
    assert told["session"]["title"] == "hello"
    assert "model_replied" in [event["event"]["type"] for event in told["events"]]


def test_what_it_cost_is_told_also_of_today(chat: Command, provider: ProviderFactory) -> None:
    reply = [T("ok"), FIN("stop"), USE(100, 5)]
    assert chat(provider=provider(reply), stdin=b"one\n").code == 0
    done = chat(provider=provider(reply, reply), stdin=b"two\nthree\n/cost\n")
    told = [line.split(" | ")[0] for line in done.err.splitlines() if " tokens in, " in line][-2:]
    assert told == ["Last turn: 100 tokens in, 5 out", "Today, all sessions: 300 tokens in, 15 out"]
    total = chat("usage", "--output", "json")
    assert json.loads(total.out)["total"]["usage"]["prompt"] == 300
