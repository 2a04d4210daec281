"""MCP servers in whole runs: whole processes, real HTTP to a scripted provider, real servers."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from support.fixtures import Command, OpenTerminal, ProviderFactory
from support.mcp import HttpStub, stub_entry
from support.process import Program, clean_env, tree, wait_gone
from support.provider import FIN, OK, TC, T

STUBBORN = "exec 3<&0; '{python}' '{script}' '{plan}' <&3 & wait"


def config(folder: Path, entries: dict[str, Any], name: str = "servers.json") -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": entries}))
    return str(path)


def offered(body: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in body["tools"] if "mcp__" in tool["function"]["name"]]


def results(body: dict[str, Any]) -> list[str]:
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


def test_r48_one_server_dies_in_a_call_and_the_other_answers(
    single: Command, provider: ProviderFactory, workspace: Path, tmp_path: Path
) -> None:
    with HttpStub() as web:
        file = config(
            tmp_path,
            {"a": stub_entry(workspace, {"name": "die", "does": "die"}), "b": {"url": web.url}},
        )
        server = provider(
            [
                [TC(0, "c1", "mcp__a__die", "{}"), TC(1, "c2", "mcp__b__greet", '{"name":"Ada"}')],
                FIN("tool_calls"),
            ],
            OK,
            strict=True,
        )
        result = single("hi", "--mcp-config", file, "--allow", "mcp__*", provider=server)
    assert (result.out, result.code) == ("ok\n", 0)
    assert offered(server.bodies[0]) == ["mcp__a__die", "mcp__b__greet"]
    died, greeted = results(server.bodies[1])
    assert died == "Error: the MCP server 'a' closed during the call: it was ended by SIGKILL"
    assert greeted == "Hello Ada"
    assert result.seconds < 15


def test_r49_broken_servers_cost_a_line_and_a_one_shot_waits_for_the_others(
    single: Command, provider: ProviderFactory, workspace: Path, tmp_path: Path
) -> None:
    file = config(
        tmp_path,
        {
            "good": stub_entry(workspace, "echo"),
            "slow": stub_entry(workspace, start="silent"),
            "missing": {"command": "no-such-binary"},
            "exits": stub_entry(workspace, start="exit"),
        },
    )
    server = provider(OK)
    result = single("hi", "--mcp-config", file, "-C", "mcp.start_timeout=3", provider=server)
    assert (result.out, result.code) == ("ok\n", 0)
    assert offered(server.bodies[0]) == ["mcp__good__echo"]
    lines = [line for line in result.err.splitlines() if "MCP server" in line]
    assert sorted(line.partition("MCP ")[2] for line in lines) == [
        "server exits: it ended with exit code 1: need TOKEN",
        "server missing: there is no command 'no-such-binary' on the PATH",
        "server slow: not ready after 3 s",
    ]


def test_r49_the_prompt_does_not_wait_and_tools_join_before_the_next_query(
    terminal: OpenTerminal, provider: ProviderFactory, workspace: Path, tmp_path: Path
) -> None:
    file = config(
        tmp_path, {"good": stub_entry(workspace, "echo"), "slow": stub_entry(workspace, start="silent")}
    )
    server = provider(OK)
    window = terminal(
        "agent-chat", "--mcp-config", file, "-C", "mcp.start_timeout=3", provider=server, cols=120
    )
    began = time.monotonic()
    window.wait_for("> ")
    assert time.monotonic() - began < 5
    window.wait_for("MCP server slow: not ready after 3 s")
    window.send("/mcp\r")
    window.wait_for("mcp__good__echo")
    window.send("hi\r")
    window.wait_for("ok")
    window.send_key("ctrl-d")
    assert window.wait_exit() == 0
    assert offered(server.bodies[0]) == ["mcp__good__echo"]


def stubborn(workspace: Path) -> dict[str, Any]:
    stub = stub_entry(workspace, "echo", stubborn=True)
    line = STUBBORN.format(python=stub["command"], script=stub["args"][0], plan=stub["args"][1])
    return {"command": "sh", "args": ["-c", line]}


@pytest.mark.parametrize("sandbox", [True, False])
@pytest.mark.parametrize("how", ["end of input", "end_chat", "SIGTERM", "SIGKILL"])
def test_r51_no_server_is_left_however_the_program_ends(
    how: str, sandbox: bool, home: Path, provider: ProviderFactory, workspace: Path, tmp_path: Path
) -> None:
    file = config(tmp_path, {"s": {**stubborn(workspace), "sandbox": sandbox}})
    bye = [TC(0, "c1", "end_chat", "{}"), FIN("tool_calls")]
    server = provider(OK, bye, [T("bye"), FIN("stop")], allow_unused=True)
    env = clean_env(home, server)
    with Program(["agent-chat", "--mcp-config", file], env=env, cwd=workspace) as program:
        program.send(b"hi\n")
        program.wait_for_output("ok")
        pids = [pid for pid in tree(program.pid) if pid != program.pid]
        assert len(pids) >= 3
        began = time.monotonic()
        match how:
            case "end of input":
                program.close_stdin()
            case "end_chat":
                program.send(b"bye\n")
            case _:
                os.kill(program.pid, getattr(signal, how))
        result = program.wait(10)
        assert time.monotonic() - began < 4
        assert result.code == {"SIGTERM": 143, "SIGKILL": 137}.get(how, 0)
        wait_gone(pids, 3)


def test_r47_keys_of_models_do_not_reach_a_server(
    single: Command, provider: ProviderFactory, workspace: Path, tmp_path: Path
) -> None:
    file = config(tmp_path, {"s": stub_entry(workspace, {"name": "env", "does": "env"})})
    server = provider([TC(0, "c1", "mcp__s__env", "{}"), FIN("tool_calls")], OK)
    result = single(
        "hi", "--mcp-config", file, "--allow", "mcp__s__env", provider=server, OPENAI_API_KEY="sk-TEST456"
    )
    assert result.code == 0
    [printed] = results(server.bodies[1])
    assert "HOME=" in printed
    assert "sk-TEST456" not in json.dumps(server.bodies)


def test_a_tool_of_a_server_asks_for_a_person_unless_its_user_trusts_it(
    single: Command, provider: ProviderFactory, workspace: Path, tmp_path: Path
) -> None:
    reads = {"name": "look", "annotations": {"readOnlyHint": True}}
    call = [TC(0, "c1", "mcp__s__look", "{}"), FIN("tool_calls")]
    file = config(tmp_path, {"s": stub_entry(workspace, reads)})
    server = provider(call, OK)
    denied = single("hi", "--mcp-config", file, provider=server)
    assert denied.code == 4
    assert "--allow 'mcp__s__look'" in results(server.bodies[1])[0]
    trusted = config(tmp_path, {"s": stub_entry(workspace, reads, entry={"trust": True})})
    server = provider(call, OK)
    assert single("hi", "--mcp-config", trusted, provider=server).code == 0
    assert results(server.bodies[1]) == ["stub:look:{}"]


def test_a_mistake_in_a_named_file_ends_with_2_before_anything_is_sent(
    single: Command, provider: ProviderFactory, tmp_path: Path
) -> None:
    file = config(tmp_path, {"s": {"comand": "npx"}})
    result = single("hi", "--mcp-config", file, provider=provider(allow_unused=True))
    assert result.code == 2
    assert f"{file}: mcpServers.s.comand: did you mean 'command'?" in result.err


def test_files_of_the_user_and_of_trusted_projects(
    single: Command, provider: ProviderFactory, home: Path, workspace: Path
) -> None:
    config(home / ".config" / "agent-chat", {"mine": stub_entry(workspace, "echo"), "bad": {}}, "mcp.json")
    config(workspace, {"theirs": stub_entry(workspace, "echo"), "mine": {"command": "x"}}, ".mcp.json")
    server = provider(OK)
    result = single("hi", provider=server)
    assert offered(server.bodies[0]) == ["mcp__mine__echo"]
    assert "mcpServers.bad: it has neither 'command' nor 'url'" in result.err
    assert ".mcp.json is ignored: you have not trusted this folder" in result.err
    (home / ".config" / "agent-chat" / "trusted_folders").write_text(f"{workspace.resolve()}\n")
    server = provider(OK)
    result = single("hi", provider=server)
    assert offered(server.bodies[0]) == ["mcp__mine__echo", "mcp__theirs__echo"]
    assert "the server 'mine' is left aside" in result.err
    server = provider(OK)
    assert "MCP" not in single("hi", "-t", "now", provider=server).err
    assert [tool["function"]["name"] for tool in server.bodies[0]["tools"]] == ["now"]


def test_the_list_for_people_and_programs(chat: Command, workspace: Path, tmp_path: Path) -> None:
    file = config(tmp_path, {"s": stub_entry(workspace, "echo"), "bad": {"command": "no-such-binary"}})
    told = chat("mcp", "list", "--mcp-config", file)
    assert "s  ready" in told.out
    assert "mcp__s__echo" in told.out
    listed = json.loads(chat("mcp", "list", "--mcp-config", file, "--output", "json").out)
    assert [(server["name"], server["state"]) for server in listed["servers"]] == [
        ("s", "ready"),
        ("bad", "failed"),
    ]
    assert listed["servers"][0]["tools"][0]["effect"] == "network"


def test_without_servers_nothing_of_it_is_imported(
    single: Command, provider: ProviderFactory, workspace: Path
) -> None:
    result = single("hi", provider=provider(OK), PYTHONPROFILEIMPORTTIME="1")
    assert result.code == 0
    assert "agent_chat.cli.mcp_servers" in result.err
    for name in ("mcp", "mcp_types", "agent_chat.tools.mcp.toolbox", "jsonschema"):
        assert f"| {name}\n" not in result.err.replace("  ", "")


def test_without_the_extra_one_line_says_what_to_install(
    single: Command, provider: ProviderFactory, home: Path, workspace: Path, tmp_path: Path
) -> None:
    # A module finder that does not find the SDK, as in an environment without it.
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(
        "import importlib.machinery as machinery\n"
        "find = machinery.PathFinder.find_spec.__func__\n"
        "machinery.PathFinder.find_spec = classmethod(\n"
        "    lambda cls, name, *rest: None if name == 'mcp' else find(cls, name, *rest))\n"
    )
    config(home / ".config" / "agent-chat", {"mine": stub_entry(workspace, "echo")}, "mcp.json")
    result = single("hi", provider=provider(OK), PYTHONPATH=str(hidden))
    assert result.code == 0
    assert (
        "MCP servers (mine) need an extra that is not installed: pip install 'agent-chat[mcp]'" in result.err
    )
