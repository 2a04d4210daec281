"""Tools of the user's own in a session: where they are found, what a broken file costs, who may call them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.fixtures import Command, ProviderFactory
from support.flows import tool_results
from support.provider import FIN, OK, TC, Item

GREET = '''
from agent_chat import tool

@tool(effect="read")
def greet(name: str) -> str:
    """Greets somebody."""
    print("on its way")
    return f"hello {name}"
'''


def calls(name: str, arguments: dict[str, Any]) -> tuple[Item, ...]:
    return (TC(0, "c1", name, json.dumps(arguments)), FIN("tool_calls"))


def offered(body: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in body.get("tools", ())]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "greetings.py"
    path.write_text(GREET, encoding="utf-8")
    return path


def test_a_named_files_tools_are_offered_and_run(
    single: Command, provider: ProviderFactory, file: Path
) -> None:
    server = provider(calls("greet", {"name": "you"}), OK, strict=True)
    result = single("--tools-from", str(file), "hi", provider=server)
    assert (result.stdout, result.code) == (b"ok\n", 0)
    assert {"greet", "calc"} <= set(offered(server.bodies[0]))
    assert tool_results(server.bodies[1])["c1"] == "hello you"
    assert sorted(path.name for path in file.parent.iterdir() if "cache" in path.name) == []


def test_a_function_that_says_nothing_of_its_effect_needs_an_approval(
    single: Command, provider: ProviderFactory, tmp_path: Path
) -> None:
    file = tmp_path / "plain.py"
    file.write_text('def mark(name: str) -> str:\n    """Marks."""\n    open(name, "w")\n    return "done"\n')
    server = provider(calls("mark", {"name": "marked"}), OK)
    result = single("--tools-from", str(file), "hi", provider=server)
    assert result.code == 4
    assert "--allow 'mark'" in tool_results(server.bodies[1])["c1"]
    server = provider(calls("mark", {"name": "marked"}), OK)
    result = single("--tools-from", str(file), "--allow", "mark", "hi", provider=server)
    assert (result.code, tool_results(server.bodies[1])["c1"]) == (0, "done")


def test_broken_files_cost_themselves_only(
    chat: Command, provider: ProviderFactory, file: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("\nimport not_there_at_all\n")
    clash = tmp_path / "clash.py"
    clash.write_text('def calc(x: int) -> int:\n    """Mine."""\n    return x\n')
    server = provider(OK)
    given = [word for path in (broken, clash, file) for word in ("--tools-from", str(path))]
    result = chat(*given, stdin=b"hi\n", provider=server)
    assert (result.stdout, result.code) == (b"ok\n", 0)
    assert f"{broken}:2: ModuleNotFoundError: No module named 'not_there_at_all'" in result.err
    assert f"{clash}:1: the tool 'calc' is left out: that is the name of a tool of the program" in result.err
    assert "greet" in offered(server.bodies[0])
    assert "Traceback" not in result.err


def test_a_file_that_is_not_there_is_a_mistake(single: Command, provider: ProviderFactory) -> None:
    result = single("--tools-from", "nowhere.py", "hi", provider=provider())
    assert (result.stdout, result.code) == (b"", 2)
    assert "nowhere.py is no file (--tools-from)" in result.err


def test_options_that_list_the_tools_list_these_too(
    single: Command, provider: ProviderFactory, file: Path
) -> None:
    for options, wanted in ((("-t", "calc"), ["calc"]), (("-t", "greet"), ["greet"]), (("--no-tools",), [])):
        server = provider(OK)
        assert single("--tools-from", str(file), *options, "hi", provider=server).code == 0
        assert offered(server.bodies[0]) == wanted


def test_a_projects_tools_are_there_when_it_is_trusted(
    single: Command, chat: Command, provider: ProviderFactory, workspace: Path
) -> None:
    folder = workspace / ".agent-chat" / "tools"
    folder.mkdir(parents=True)
    (folder / "greetings.py").write_text(GREET)
    (folder / "_helper.py").write_text("raise RuntimeError('it is no file of tools')")
    server = provider(OK)
    result = single("hi", provider=server)
    assert (result.code, "greet" in offered(server.bodies[0])) == (0, False)
    assert f"`agent-chat config trust {workspace}`" in result.err
    assert chat("config", "trust").code == 0
    server = provider(OK)
    result = single("hi", provider=server)
    assert (result.err, "greet" in offered(server.bodies[0])) == ("", True)
    assert [path.name for path in folder.iterdir() if path.is_dir()] == []


def test_the_users_tools_are_there_everywhere_but_with_another_configuration(
    single: Command, provider: ProviderFactory, home: Path, tmp_path: Path
) -> None:
    folder = home / ".config" / "agent-chat" / "tools"
    folder.mkdir(parents=True)
    (folder / "greetings.py").write_text(GREET)
    other = tmp_path / "other.yaml"
    other.write_text("")
    for options, there in (((), True), (("--config", str(other)), False)):
        server = provider(OK)
        assert single(*options, "hi", provider=server).code == 0
        assert ("greet" in offered(server.bodies[0])) == there
