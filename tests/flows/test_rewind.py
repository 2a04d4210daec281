"""Going back to before a turn, and sending its message again, in the whole program."""

from __future__ import annotations

import json
from pathlib import Path

from support.fixtures import Command, OpenTerminal, ProviderFactory
from support.flows import log_of, of_type, said, session_ids, user_texts
from support.provider import FIN, OK, TC, T

EDIT = [
    TC(0, "c1", "write_file", json.dumps({"path": "notes.md", "content": "new\n"})),
    FIN("tool_calls"),
]


def test_going_back_and_saying_something_else(chat: Command, provider: ProviderFactory, home: Path) -> None:
    server = provider(OK, [T("wrong"), FIN("stop")], [T("right"), FIN("stop")], strict=True)
    script = b"first\nsecond\n/rewind\nbetter\n"
    result = chat(provider=server, stdin=script)
    assert (result.stdout, result.code) == (b"ok\nwrong\nright\n", 0)
    assert "Back to before turn 2: 1 turn taken back" in result.err
    assert "Its message was:\nsecond" in result.err
    assert said(server.bodies[2]) == [("user", "first"), ("assistant", "ok"), ("user", "better")]
    # The log keeps what was taken back, and a resumed session is where the user left it.
    assert user_texts(log_of(home)) == ["first", "second", "better"]
    assert "turn 2, " in (shown := chat("sessions", "show", session_ids(home)[0]).out)
    assert shown.count("taken back") == 1
    server = provider(OK, strict=True)
    assert chat("-c", provider=server, stdin=b"/rewind 1\nanew\n").code == 0
    assert said(server.bodies[0]) == [("user", "anew")]


def test_a_turn_that_is_not_there(chat: Command, provider: ProviderFactory) -> None:
    result = chat(provider=provider(OK), stdin=b"/rewind\nfirst\n/rewind 7\n")
    assert "There is no turn to go back from." in result.err
    assert "There is no turn 7 in this conversation." in result.err


def test_the_files_go_back_too_where_asked(
    chat: Command, provider: ProviderFactory, workspace: Path, home: Path
) -> None:
    notes = workspace / "notes.md"
    notes.write_text("old\n")
    read = [TC(0, "c0", "read_file", '{"path":"notes.md"}'), FIN("tool_calls")]
    server = provider(read, EDIT, OK, read, EDIT, OK, strict=True)
    script = b"write\n/rewind\nagain\n/rewind files\n"
    result = chat("--mode", "accept-edits", provider=server, stdin=script)
    assert result.code == 0
    assert "1 change of files since then stay as they are" in result.err
    assert "notes.md is" in result.err
    # The first change is not of the turn that was taken back with its files.
    assert notes.read_text() == "new\n"
    assert [event.to_turn for event in of_type(log_of(home), "rewound")] == [1, 2]


def test_a_file_that_something_else_changed_keeps_the_conversation_where_it_is(
    chat: Command, provider: ProviderFactory, workspace: Path, home: Path
) -> None:
    server = provider(EDIT, OK, strict=True)
    assert chat("--mode", "accept-edits", provider=server, stdin=b"write\n").code == 0
    (workspace / "notes.md").write_text("somebody else's\n")
    result = chat("-c", provider=provider(OK), stdin=b"/rewind files\nhello\n")
    assert "was changed by something else since" in result.err
    assert "The conversation stays where it is." in result.err
    assert of_type(log_of(home), "rewound") == []
    assert (workspace / "notes.md").read_text() == "somebody else's\n"


def test_the_last_message_again_to_another_model(chat: Command, provider: ProviderFactory) -> None:
    server = provider(OK, [T("second try"), FIN("stop")], [T("third"), FIN("stop")], strict=True)
    result = chat(provider=server, stdin=b"hello\n/retry\n/retry openai/other\n")
    assert result.stdout == b"ok\nsecond try\nthird\n"
    assert [said(body) for body in server.bodies] == [[("user", "hello")]] * 3
    assert [body["model"] for body in server.bodies] == ["scripted", "scripted", "other"]


def test_the_message_stands_on_the_input_line_again(
    terminal: OpenTerminal, provider: ProviderFactory
) -> None:
    server = provider(OK, [T("better"), FIN("stop")], strict=True)
    window = terminal("agent-chat", provider=server)
    window.wait_for("> ")
    window.send("helo\r")
    window.wait_for("ok")
    window.send("/rewind\r")
    window.wait_for("Back to before turn 1")
    window.wait_for("> helo")
    window.send_key("backspace")
    window.send("lo\r")
    window.wait_for("better")
    assert said(server.bodies[1]) == [("user", "hello")]
    window.send_key("ctrl-d")
    assert window.wait_exit() == 0
