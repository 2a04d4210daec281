"""`agent-chat tools`: what there is, what the model is told, and one call to try."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.fixtures import Command, OpenTerminal

MINE = '''
def greet(name: str) -> str:
    """Greets somebody.

    Args:
        name: who it is
    """
    print("on its way")
    return f"hello {name}"

def fail(text: str) -> str:
    """Fails."""
    raise RuntimeError(text)
'''


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE, encoding="utf-8")
    return path


def test_the_list_tells_effect_permission_and_source(chat: Command, mine: Path) -> None:
    listed = chat("tools", "list", "--tools-from", str(mine))
    rows = {line.split()[0]: line for line in listed.out.splitlines()}
    assert "read     allowed      built in" in rows["calc"]
    assert f"execute  allowed      {mine}:2" in rows["greet"]
    shown = json.loads(chat("tools", "list", "--tools-from", str(mine), "--output", "json").out)
    [greet] = [tool for tool in shown["tools"] if tool["name"] == "greet"]
    assert greet == {
        "name": "greet",
        "effect": "execute",
        "allowed": True,
        "source": f"{mine}:2",
        "summary": "Greets somebody.",
    }


def test_one_is_shown_as_the_model_is_told_of_it(chat: Command, mine: Path) -> None:
    shown = json.loads(chat("tools", "show", "greet", "--tools-from", str(mine), "--output", "json").out)
    assert shown["description"] == "Greets somebody."
    assert shown["parameters"]["properties"]["name"] == {"type": "string", "description": "who it is"}
    text = chat("tools", "show", "calc").out
    assert text.startswith("calc | read | allowed | ")
    assert '"expression"' in text


def test_a_call_is_tried_as_a_session_would_run_it(chat: Command, mine: Path) -> None:
    source = ("--tools-from", str(mine))
    ran = chat("tools", "test", "greet", '{"name": "you"}', "--yes", *source)
    assert (ran.out, ran.err, ran.code) == ("hello you\n", "on its way\n", 0)
    assert chat("tools", "test", "calc", '{"expression": "6*7"}').out == "42\n"
    failed = chat("tools", "test", "fail", '{"text": "no luck"}', "--yes", *source)
    assert (failed.out, failed.err, failed.code) == ("", "Error: RuntimeError: no luck\n", 1)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("greet", '{"name": "you"}'), 4, "nobody can be asked here. --yes runs it."),
        (("greet", '{"nam": "you"}', "--yes"), 2, "parameter 'name' is missing"),
        (("greet", "[1]", "--yes"), 2, "not a JSON object"),
        (("gret", "{}"), 2, "There is no tool 'gret'"),
    ],
)
def test_what_cannot_run_says_why(
    chat: Command, mine: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    tried = chat("tools", "test", *words, "--tools-from", str(mine))
    assert (tried.out, tried.code) == ("", code)
    assert said in tried.err


def test_the_result_in_json(chat: Command, mine: Path) -> None:
    tried = chat(
        "tools", "test", "fail", '{"text": "x"}', "--yes", "--tools-from", str(mine), "--output", "json"
    )
    shown = json.loads(tried.out)
    assert shown.pop("duration_s") >= 0
    assert shown == {
        "schema_version": 1,
        "name": "fail",
        "ok": False,
        "content": "Error: RuntimeError: x",
        "error_type": "error",
        "exit_code": 1,
    }


def test_a_person_on_a_terminal_is_asked(terminal: OpenTerminal, mine: Path) -> None:
    window = terminal(
        *("agent-chat", "tools", "test", "greet", '{"name": "you"}', "--tools-from", str(mine)), cols=120
    )
    window.wait_for("y yes | n no")
    assert "May greet run?" in window.text
    assert "name: you" in window.text
    window.send("y\n")
    assert window.wait_exit() == 0
    assert "hello you" in window.text
