"""Servers that are healthy, slow, broken and dying, as real processes and over real HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.mcp import HttpStub, running, stub_entry
from support.process import tree, wait_gone, wait_until

from agent_chat.core.ports import ToolContext

CONTEXT = ToolContext("c1", "s1", "k1", lambda text: None)


async def test_r48_a_server_that_dies_during_a_call_is_an_error_and_is_started_again_once(
    workspace: Path,
) -> None:
    entries = {
        "a": stub_entry(workspace, {"name": "die", "does": "die"}, "echo"),
        "b": stub_entry(workspace, "echo", name="b"),
    }
    async with running(workspace, entries) as servers:
        began = time.monotonic()
        died = await servers.call("mcp__a__die")
        assert time.monotonic() - began < 3
        assert not died.ok
        assert died.content == "the MCP server 'a' closed during the call: it was ended by SIGKILL"
        assert (await servers.call("mcp__b__echo", x=1)).content == 'b:echo:{"x": 1}'
        assert (await servers.call("mcp__a__echo")).ok  # started again
        assert not (await servers.call("mcp__a__die")).ok
        down = await servers.call("mcp__a__echo")
        assert down.content == "the MCP server 'a' is down: it was ended by SIGKILL"
        assert servers.problems == [
            "MCP server a closed: it was ended by SIGKILL; it is started again when it is needed",
            "MCP server a closed: it was ended by SIGKILL",
        ]


async def test_r49_slow_and_broken_servers_cost_a_line_each_and_nobody_else(workspace: Path) -> None:
    entries = {
        "good": stub_entry(workspace, "echo"),
        "silent": stub_entry(workspace, start="silent", entry={"startTimeout": 3}),
        "usage": stub_entry(workspace, start="noise_only", entry={"startTimeout": 3}),
        "missing": {"command": "no-such-binary"},
        "exits": stub_entry(workspace, start="exit"),
        "noisy": stub_entry(workspace, "echo", start="noisy"),
        "closed": {"url": "http://127.0.0.1:9/mcp"},
    }
    began = time.monotonic()
    async with running(workspace, entries) as servers:
        assert time.monotonic() - began < 8
        assert sorted(servers.problems) == [
            "MCP server closed: ConnectError: All connection attempts failed",
            "MCP server exits: it ended with exit code 1: need TOKEN",
            "MCP server missing: there is no command 'no-such-binary' on the PATH",
            "MCP server silent: not ready after 3 s",
            "MCP server usage: not ready after 3 s; its last words: usage: server [--stdio]",
        ]
        assert servers.names == ["mcp__good__echo", "mcp__noisy__echo"]
        assert [info.state for info in servers.toolbox.infos()] == [
            *("ready", "failed", "failed", "failed", "failed", "ready", "failed"),
        ]


LONG = "x" * 80


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
async def test_r50_names_are_legal_unique_stable_and_lead_back(
    workspace: Path, names: tuple[str, str]
) -> None:
    odd = ("admin.tools/list all", LONG + "1234567890", LONG + "abcdefghij")
    tools = {"a": ("search", *odd), "b": ("search",)}
    entries = {name: stub_entry(workspace, *tools[name], name=name) for name in names}
    async with running(workspace, entries) as servers:
        assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in servers.names)
        assert sorted(servers.names) == [
            "mcp__a__admin_tools_list_all_321ffe34",
            "mcp__a__search",
            "mcp__a__" + "x" * 47 + "_38ecdc2b",
            "mcp__a__" + "x" * 47 + "_693b1555",
            "mcp__b__search",
        ]
        answers = {(await servers.call(name)).content for name in servers.names}
        assert answers == {f"a:{tool}:{{}}" for tool in tools["a"]} | {"b:search:{}"}


async def test_r47_a_server_does_not_get_keys_but_what_its_entry_gives_it(workspace: Path) -> None:
    environ = {**os.environ, "OPENAI_API_KEY": "sk-TEST456", "LANG": "C.UTF-8", "HTTP_PROXY": "http://p:1"}
    entry = {"env": {"TOKEN_FOR_IT": "${OPENAI_API_KEY}-given"}}
    tool = {"name": "env", "does": "env"}
    entries = {"plain": stub_entry(workspace, tool), "given": stub_entry(workspace, tool, entry=entry)}
    async with running(workspace, entries, environ=environ) as servers:
        plain = (await servers.call("mcp__plain__env")).content.splitlines()
        assert not [line for line in plain if "sk-TEST456" in line]
        assert {"LANG=C.UTF-8", "HTTP_PROXY=http://p:1", f"HOME={environ['HOME']}"} <= set(plain)
        given = (await servers.call("mcp__given__env")).content.splitlines()
        assert [line for line in given if "sk-TEST456" in line] == ["TOKEN_FOR_IT=sk-TEST456-given"]


@pytest.mark.parametrize("sandbox", [False, True])
async def test_r51_nothing_of_a_stubborn_server_is_left(workspace: Path, sandbox: bool) -> None:
    stub = stub_entry(workspace, "echo", stubborn=True)
    words = " ".join(f"'{word}'" for word in (stub["command"], *stub["args"]))
    entry = {"command": "sh", "args": ["-c", f"exec 3<&0; {words} <&3 & wait"], "sandbox": sandbox}
    async with running(workspace, {"s": entry}) as servers:
        assert (await servers.call("mcp__s__echo")).ok
        pids = [pid for pid in tree(os.getpid()) if pid != os.getpid()]
        assert len(pids) >= 3
        began = time.monotonic()
        await servers.toolbox.close()
        assert time.monotonic() - began < 3
    wait_gone(pids, 3)


async def test_a_server_runs_in_the_sandbox_unless_the_user_says_otherwise(
    workspace: Path, tmp_path: Path
) -> None:
    script = workspace / "probe.py"
    outside = tmp_path / "outside.txt"
    script.write_text(
        "import sys, pathlib\n"
        "try: pathlib.Path(sys.argv[1]).write_text('x')\n"
        "except OSError: sys.exit('no write')\n"
        "sys.exit('written')\n"
    )
    entry: dict[str, Any] = {"command": sys.executable, "args": [str(script), str(outside)]}
    async with running(workspace, {"inside": entry}) as servers:
        assert len(servers.problems) == 1
        assert not outside.exists()  # whatever it saw there was a folder of its own
    async with running(workspace, {"inside": {**entry, "sandbox": False}}) as servers:
        assert "written" in servers.problems[0]
    outside.unlink()
    async with running(workspace, {"inside": {**entry, "sandbox": False}}, origin="project"):
        assert not outside.exists()  # a project cannot say otherwise


async def test_http_with_headers_errors_and_an_end_to_the_session(workspace: Path) -> None:
    with HttpStub() as web, HttpStub(status=401) as closed:
        entries = {
            "web": {"type": "http", "url": web.url, "headers": {"X-Team": "${TEAM:-red}"}},
            "shut": {"url": f"{closed.url}?key=sk-secret123456"},
        }
        async with running(workspace, entries) as servers:
            assert servers.problems == [
                "MCP server shut: HTTP 401 Unauthorized; check the headers of its entry"
            ]
            assert (await servers.call("mcp__web__greet", name="Ada")).content == "Hello Ada"
            assert {headers["x-team"] for headers in web.headers} == {"red"}
        assert web.methods[-1] == "DELETE"


async def test_an_http_server_that_goes_away_is_closed_within_three_seconds(workspace: Path) -> None:
    with HttpStub() as web:
        async with running(workspace, {"web": {"url": web.url}}) as servers:
            web.__exit__()
            began = time.monotonic()
            failed = await servers.call("mcp__web__greet", name="Ada")
            assert time.monotonic() - began < 3
            assert failed.content.startswith("the MCP server 'web' closed during the call: ")


async def test_every_kind_of_answer_becomes_text(workspace: Path) -> None:
    kinds = ("mixed", "structured", "error", "wrong", "progress")
    async with running(
        workspace, {"s": stub_entry(workspace, *({"name": kind, "does": kind} for kind in kinds))}
    ) as servers:
        assert (await servers.call("mcp__s__mixed")).content.splitlines() == [
            "first",
            "[image, image/png, 6 bytes: it cannot be shown here]",
            "[resource file:///a.txt]",
            "inside",
            "[link to a resource: file:///b.txt (b)]",
            '{"n": 1}',
        ]
        assert (await servers.call("mcp__s__structured")).content == '{"n": 1}'
        error = await servers.call("mcp__s__error")
        assert (error.ok, error.content) == (False, "no such city")
        wrong = await servers.call("mcp__s__wrong")
        assert not wrong.ok
        assert wrong.content.startswith("the MCP server 's' refused: its answer cannot be used: ")
        assert (await servers.call("mcp__s__progress")).content == "done"
        assert servers.output == ["1 of 2: half[2J way\n"]


async def test_a_cancelled_call_is_cancelled_at_the_server(workspace: Path) -> None:
    seen = workspace / "seen.jsonl"
    entry = stub_entry(workspace, {"name": "hang", "does": "hang"}, "echo", seen=str(seen))
    async with running(workspace, {"s": entry}) as servers:
        call = asyncio.create_task(servers.call("mcp__s__hang"))
        await asyncio.to_thread(
            wait_until, lambda: seen.exists() and "tools/call" in seen.read_text(), "the call arrives"
        )
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await servers.call("mcp__s__echo")).ok  # comes after it
        received = [json.loads(line) for line in seen.read_text().splitlines()]
        [request] = [
            one for one in received if one["method"] == "tools/call" and one["params"]["name"] == "hang"
        ]
        [told] = [one for one in received if one["method"] == "notifications/cancelled"]
        assert told["params"]["requestId"] == request["id"]


async def test_a_changed_list_is_there_before_the_next_query(workspace: Path) -> None:
    entry = stub_entry(workspace, {"name": "change", "does": "change"})
    async with running(workspace, {"s": entry}) as servers:
        assert servers.names == ["mcp__s__change"]
        assert (await servers.call("mcp__s__change")).ok
        assert servers.names == ["mcp__s__change", "mcp__s__added"]
        assert (await servers.call("mcp__s__added")).ok


async def test_floods_are_bounded_and_what_is_too_long_ends_the_server(workspace: Path) -> None:
    kinds = ("flood", "huge")
    entry = stub_entry(workspace, *({"name": kind, "does": kind} for kind in kinds))
    async with running(workspace, {"s": entry}) as servers:
        assert (await servers.call("mcp__s__flood")).content == "after the flood"
        huge = await servers.call("mcp__s__huge")
        assert huge.content == (
            "the MCP server 's' closed during the call: it sent a message of more than 8 MiB"
        )


async def test_a_server_made_with_the_official_sdk(workspace: Path) -> None:
    script = workspace / "server.py"
    script.write_text(
        "from mcp.server import MCPServer\n"
        "server = MCPServer('sums')\n"
        "@server.tool()\n"
        "def add(a: int, b: int) -> int:\n"
        "    'Adds two numbers.'\n"
        "    return a + b\n"
        "server.run('stdio')\n"
    )
    async with running(workspace, {"sums": {"command": sys.executable, "args": [str(script)]}}) as servers:
        [spec] = servers.toolbox.specs()
        assert (spec.name, spec.description) == ("mcp__sums__add", "Adds two numbers.")
        assert (await servers.call("mcp__sums__add", a=2, b=3)).content == "5"
        tool = servers.toolbox.get("mcp__sums__add")
        assert tool is not None
        with pytest.raises(ValueError, match=r"a: 'x' is not of type 'integer'; 'b' is a required property"):
            tool.validate({"a": "x"})
