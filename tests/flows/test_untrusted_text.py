"""Text of models, tools, files and names: shown as it is, never as markup, escape codes or credentials."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.fixtures import Command, OpenTerminal, ProviderFactory
from support.flows import log_of, state_folder, tool_results
from support.provider import FIN, HTTP, OK, TC, Item, T

MARKUP = "see [/INST] [bold]x[/bold] [link=http://e]y[/link] [/] [red"
ATTACK = "a \x1b[2J \x1b]0;pwn\x07 b \x1b]52;c;ZXZpbA==\x07 \x1b[1A c"
SEQUENCES = (b"\x1b[2J", b"\x1b]0;pwn", b"\x1b]52;c", b"\x1b[1A ")
KEYS = ("AIzaTESTKEY123", "sk-TEST456")


def calls(name: str, **arguments: str) -> tuple[Item, ...]:
    return (TC(0, "c1", name, json.dumps(arguments)), FIN("tool_calls"))


@pytest.fixture
def red(tmp_path: Path) -> Path:
    """A tool whose description, output and result are what must not be interpreted."""
    path = tmp_path / "red.py"
    path.write_text(
        "from agent_chat import tool\n"
        f"TEXT = {MARKUP + ATTACK!r}\n"
        "@tool(effect='read', description=TEXT)\n"
        "def red(fails: bool = False) -> str:\n"
        "    print(TEXT)\n"
        "    if fails:\n"
        "        raise RuntimeError(TEXT)\n"
        "    return TEXT\n"
    )
    return path


@pytest.mark.parametrize("fails", ["true", "false"])
def test_r28_r29_in_a_pipe_nothing_of_a_tool_is_markup_or_acts(
    chat: Command, provider: ProviderFactory, red: Path, fails: str
) -> None:
    server = provider(
        (TC(0, "c1", "red", f'{{"fails": {fails}}}'), FIN("tool_calls")), [T(MARKUP), FIN("stop")]
    )
    options = ("-v", "--tools-from", str(red), "-m", "openai/[red]")
    result = chat(*options, stdin=b"/tools\ngo\n", provider=server)
    assert (result.out, result.code) == (f"{MARKUP}\n", 0)
    assert b"\x1b" not in result.stdout + result.stderr
    assert MARKUP in result.err
    assert "a ␛[2J" in result.err
    assert "openai/[red]" in result.err
    assert ATTACK in tool_results(server.bodies[1])["c1"]


def test_r28_r29_a_name_that_acts_on_the_terminal(chat: Command, provider: ProviderFactory) -> None:
    server = provider((TC(0, "c1", f"[red]{ATTACK}", "{}"), FIN("tool_calls")), [T(ATTACK), FIN("stop")])
    result = chat(stdin=b"go\n", provider=server)
    assert result.code == 0
    assert b"\x1b" not in result.stdout + result.stderr
    assert all(letter in result.out for letter in "abc")
    assert "[red]a ␛[2J" in result.err


def test_r29_an_error_of_the_provider_cannot_act_on_the_terminal(
    single: Command, provider: ProviderFactory
) -> None:
    server = provider(HTTP(400, {}, json.dumps({"error": {"message": f"[red]{ATTACK}"}})))
    result = single("hi", provider=server)
    assert (result.stdout, result.code) == (b"", 1)
    assert b"\x1b" not in result.stderr
    assert "[red]a" in result.err


def test_r28_r29_on_a_terminal(terminal: OpenTerminal, provider: ProviderFactory, red: Path) -> None:
    server = provider(
        (TC(0, "c1", "red", "{}"), FIN("tool_calls")),
        (TC(0, "c2", f"[red]{ATTACK}", "{}"), FIN("tool_calls")),
        [T(f"{MARKUP}\n\n{ATTACK}"), FIN("stop")],
        HTTP(400, {}, json.dumps({"error": {"message": f"no [red] {ATTACK}"}})),
    )
    window = terminal(
        "agent-chat", "--tools-from", str(red), "-m", "openai/[red]", provider=server, cols=200, rows=50
    )
    window.wait_for("Enter sends")
    window.send(f"[red]title{MARKUP}\r")
    window.wait_for("iterations | ")
    window.send("again\r")
    window.wait_for("no [red] a")
    window.send("/sessions\r")
    window.wait_for(lambda w: w.text.count("[red]title") >= 2)
    for sequence in SEQUENCES:
        assert sequence not in window.raw
    for wanted in (f"{MARKUP}a ␛[2J", "[red]a ␛[2J", "openai/[red]"):
        assert wanted in window.text


def test_invisible_characters_of_a_result_are_seen(
    chat: Command, provider: ProviderFactory, workspace: Path
) -> None:
    (workspace / "page.txt").write_text("plain\u200b\u202etext\U000e0041", encoding="utf-8")
    result = chat("-v", stdin=b"go\n", provider=provider(calls("read_file", path="page.txt"), OK))
    assert "plain<U+200B><U+202E>text<U+E0041>" in result.err


@pytest.mark.parametrize("verbose", [(), ("-v",)])
def test_r46_keys_in_errors_reach_nothing(
    single: Command, provider: ProviderFactory, home: Path, verbose: tuple[str, ...]
) -> None:
    said = f"bad request to https://h/v1?key={KEYS[0]} with Authorization: Bearer {KEYS[1]}, sorry"
    server = provider(HTTP(400, {}, json.dumps({"error": {"message": said}})))
    result = single(*verbose, "hi", provider=server, OPENAI_API_KEY=KEYS[1], GEMINI_API_KEY=KEYS[0])
    assert (result.stdout, result.code) == (b"", 1)
    assert "[masked]" in result.err
    assert ", sorry" in result.err
    assert_nowhere(result.out + result.err, home)


def test_r46_r47_keys_in_results_arguments_and_messages_reach_nothing(
    chat: Command, provider: ProviderFactory, home: Path, workspace: Path
) -> None:
    (workspace / ".env").write_text(f"OPENAI_API_KEY={KEYS[1]}\nDB_PASSWORD=Summer2024\nNAME=x\n")
    server = provider(calls("read_file", path=".env"), calls("calc", expression=f"2 + {KEYS[0]}"), OK, OK)
    result = chat("-v", stdin=f"go\nmy key is {KEYS[1]}\n".encode(), provider=server)
    assert result.code == 0
    assert "OPENAI_API_KEY=[masked]" in tool_results(server.bodies[1])["c1"]
    assert "NAME=x" in tool_results(server.bodies[1])["c1"]
    bodies = json.dumps(server.bodies)
    assert "Summer2024" not in bodies + result.err
    assert_nowhere(result.out + result.err + bodies, home)


def test_r47_commands_do_not_get_the_keys_and_what_they_print_is_masked(
    chat: Command, provider: ProviderFactory, home: Path
) -> None:
    server = provider(calls("shell", command=f"env; echo it is {KEYS[1]}"), OK)
    result = chat("--allow", "shell", stdin=b"go\n", provider=server, OPENAI_API_KEY=KEYS[1])
    assert result.code == 0
    told = tool_results(server.bodies[1])["c1"]
    assert "PATH=" in told
    assert "OPENAI_API_KEY" not in told
    assert "it is [masked]" in told
    assert_nowhere(result.out + result.err + json.dumps(server.bodies), home)


def assert_nowhere(shown: str, home: Path) -> None:
    """None of the keys was shown or sent, or stands in the log or in any file of the program's."""
    shown += "".join(entry.to_json() for entry in log_of(home))
    files = b"".join(path.read_bytes() for path in state_folder(home).rglob("*") if path.is_file())
    for key in KEYS:
        assert key not in shown
        assert key.encode() not in files
