"""A person is asked on a terminal before anything with effects runs."""

from __future__ import annotations

import json
from pathlib import Path

from support.fixtures import OpenTerminal, ProviderFactory
from support.flows import tool_results
from support.process import HasBaseUrl
from support.provider import FIN, GATE, OK, TC, Gate, Item, T
from support.terminal import Terminal

ASKED = "y yes | n no"


def shell(command: str, call_id: str = "c1") -> tuple[Item, ...]:
    return (TC(0, call_id, "shell", json.dumps({"command": command})), FIN("tool_calls"))


def write(path: str, content: str) -> tuple[Item, ...]:
    return (TC(0, "c1", "write_file", json.dumps({"path": path, "content": content})), FIN("tool_calls"))


def started(terminal: OpenTerminal, server: HasBaseUrl, *, rows: int = 24, cols: int = 80) -> Terminal:
    window = terminal("agent-chat", provider=server, rows=rows, cols=cols)
    window.wait_for("Enter sends")
    return window


def asked(window: Terminal, times: int = 1) -> None:
    window.wait_for(lambda w: w.text.count(ASKED) == times and "?" in w.screen)


def answered(window: Terminal) -> None:
    window.wait_for(lambda w: "ok" in w.text.splitlines())


def say(window: Terminal, text: str) -> None:
    window.send(f"{text}\r")


def test_the_command_and_where_it_runs_are_shown_and_yes_runs_it(
    terminal: OpenTerminal, provider: ProviderFactory, workspace: Path
) -> None:
    server = provider(shell("touch made && echo [red]done"), OK)
    window = started(terminal, server)
    say(window, "go")
    asked(window)
    assert "May shell run?" in window.text
    assert "    touch made && echo [red]done" in window.text
    assert "in the workspace" in window.text
    assert not (workspace / "made").exists()
    say(window, "y")
    answered(window)
    assert (workspace / "made").exists()
    assert "[red]done" in tool_results(server.bodies[1])["c1"]


def test_no_with_instructions_reaches_the_model(
    terminal: OpenTerminal, provider: ProviderFactory, workspace: Path
) -> None:
    server = provider(shell("touch made"), shell("touch made", "c2"), OK)
    window = started(terminal, server)
    say(window, "go")
    asked(window)
    say(window, "i use mktemp instead")
    asked(window, 2)
    assert "the user said no to this call, and: use mktemp instead" in tool_results(server.bodies[1])["c1"]
    say(window, "n")
    answered(window)
    assert "the user said no" in tool_results(server.bodies[2])["c2"]
    assert not (workspace / "made").exists()


def test_an_edited_command_runs_as_edited_and_the_model_is_told(
    terminal: OpenTerminal, provider: ProviderFactory, workspace: Path
) -> None:
    server = provider(shell("touch made"), OK)
    window = started(terminal, server)
    say(window, "go")
    asked(window)
    say(window, "e")
    window.wait_for(lambda w: any(row.startswith("? touch made") for row in w.screen))
    window.send("\x7f" * 4 + "other\r")
    asked(window, 2)
    assert "    touch other" in window.text
    say(window, "y")
    answered(window)
    assert ((workspace / "made").exists(), (workspace / "other").exists()) == (False, True)
    told = tool_results(server.bodies[1])["c1"]
    assert told.startswith("[The user changed the arguments of this call before it ran:")
    assert "touch other" in told


def test_a_difference_is_shown_in_color_and_a_long_one_on_demand(
    terminal: OpenTerminal, provider: ProviderFactory, workspace: Path
) -> None:
    content = "".join(f"line {number}\n" for number in range(60))
    window = started(terminal, provider(write("a.txt", content), OK), rows=50)
    say(window, "go")
    asked(window)
    assert b"\x1b[32m    +line 1\x1b[0m" in window.raw
    assert "more lines (v shows all)" in window.text
    assert "+line 59" not in window.text
    say(window, "v")
    window.wait_for("+line 59")
    asked(window, 2)
    say(window, "y")
    answered(window)
    assert (workspace / "a.txt").read_text() == content


def test_yes_for_the_session_and_for_always(
    terminal: OpenTerminal, provider: ProviderFactory, workspace: Path, home: Path
) -> None:
    server = provider(
        *(shell("touch a1"), shell("touch a2", "c2"), shell("mkdir b", "c3"), shell("mkdir c", "c4"), OK)
    )
    window = started(terminal, server)
    say(window, "go")
    asked(window)
    assert "s and a allow: shell(touch *)" in window.text
    say(window, "s")
    asked(window, 2)
    assert (workspace / "a2").exists()
    say(window, "a")
    window.wait_for(lambda w: any(row.startswith("? shell(mkdir *)") for row in w.screen))
    say(window, "")
    answered(window)
    assert (workspace / "c").exists()
    assert (home / ".config/agent-chat/allowed_rules").read_text() == "shell(mkdir *)\n"


def test_yes_to_the_next_calls_of_the_tool(
    terminal: OpenTerminal, provider: ProviderFactory, workspace: Path
) -> None:
    server = provider(shell("touch a; true"), shell("touch b; true", "c2"), shell("touch c; true", "c3"), OK)
    window = started(terminal, server)
    say(window, "go")
    asked(window)
    say(window, "2")
    asked(window, 2)
    assert [(workspace / name).exists() for name in "abc"] == [True, True, False]
    say(window, "n")
    answered(window)
    assert not (workspace / "c").exists()


def test_what_was_typed_before_the_question_is_no_answer_to_it(
    terminal: OpenTerminal, provider: ProviderFactory, workspace: Path
) -> None:
    gate = Gate()
    server = provider([T("wait "), GATE(gate), *shell("touch made")], OK)
    window = started(terminal, server)
    say(window, "go")
    window.wait_for("wait")
    window.send("y")
    window.wait_for(lambda w: any(row == "> y" for row in w.screen))
    gate.open()
    asked(window)
    assert not any(row.startswith("? y") for row in window.screen)
    say(window, "")
    window.wait_for("none of the answers")
    assert not (workspace / "made").exists()
    say(window, "n")
    answered(window)
    window.wait_for(lambda w: any(row == "> y" for row in w.screen))
    assert not (workspace / "made").exists()


def test_escape_stops_the_turn(terminal: OpenTerminal, provider: ProviderFactory, workspace: Path) -> None:
    server = provider(shell("touch made"), OK, strict=True)
    window = started(terminal, server)
    say(window, "go")
    asked(window)
    window.send_key("esc")
    window.wait_for("Interrupted")
    say(window, "hello")
    answered(window)
    assert not (workspace / "made").exists()


def test_r29_what_is_asked_about_cannot_act_on_the_terminal_or_hide(
    terminal: OpenTerminal, provider: ProviderFactory
) -> None:
    command = "echo a \x1b[2J\x1b]0;pwn\x07 b\u202e c\u200b d"
    window = started(terminal, provider(shell(command)), cols=120)
    say(window, "go")
    asked(window)
    assert "echo a ␛[2J␛]0;pwn␇ b<U+202E> c<U+200B> d" in window.text
    say(window, "e")
    window.wait_for("\\u202e")
    for attack in (b"\x1b[2J", b"\x1b]0;pwn", "\u202e".encode(), "\u200b".encode()):
        assert attack not in window.raw
    window.send_key("ctrl-c")
    window.wait_for("Cleared")
    window.send_key("esc")
    window.wait_for("Interrupted")


def test_a_terminal_without_escapes_asks_too(
    terminal: OpenTerminal, provider: ProviderFactory, workspace: Path
) -> None:
    server = provider(shell("touch made"), shell("touch other", "c2"), OK)
    window = terminal("agent-chat", provider=server, TERM="dumb")
    window.wait_for("> ")
    window.send("go\n")
    asked(window)
    window.send("y\n")
    asked(window, 2)
    window.send("i not that\n")
    answered(window)
    assert ((workspace / "made").exists(), (workspace / "other").exists()) == (True, False)
    assert "and: not that" in tool_results(server.bodies[2])["c2"]
    assert b"\x1b" not in window.raw
