"""What is made of a server's word: effects, descriptions, schemas, and tools that have to be found first."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import Tool, ToolAnnotations
from support.mcp import running, stub_entry

from agent_chat.tools.mcp.config import Confined, Http, ServerConfig, Stdio
from agent_chat.tools.mcp.names import LONGEST, tool_name
from agent_chat.tools.mcp.specs import LONGEST_SCHEMA, size_of, spec_of
from agent_chat.tools.mcp.tool import effect_of
from agent_chat.tools.mcp.validation import ArgumentCheck

PROGRAM = Stdio("a", (), {}, None)
READS = ToolAnnotations(read_only_hint=True)
BOTH = ToolAnnotations(read_only_hint=True, destructive_hint=True)


@pytest.mark.parametrize(
    ("trust", "hints", "network", "confined", "effect"),
    [
        (False, READS, True, True, "network"),
        (False, READS, False, True, "execute"),
        (False, READS, False, False, "network"),  # wanted, but there is no sandbox
        (True, READS, True, True, "read"),
        (True, BOTH, True, True, "network"),
        (True, None, True, True, "network"),
    ],
)
def test_a_servers_word_lowers_nothing_unless_the_user_trusts_it(
    trust: bool, hints: ToolAnnotations | None, network: bool, confined: bool, effect: str
) -> None:
    config = ServerConfig("s", PROGRAM, "user", "f", trust=trust, sandbox=Confined(network=network))
    assert effect_of(config, hints, confined=confined) == effect
    remote = ServerConfig("s", Http("https://h", {}), "user", "f", sandbox=Confined(network=False))
    assert effect_of(remote, READS, confined=True) == "network"


@given(st.text(max_size=100), st.text(max_size=100))
def test_every_name_is_legal(server: str, tool: str) -> None:
    name = tool_name(server, tool)
    assert 1 <= len(name) <= LONGEST
    assert name.isascii()
    assert not set(name) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


_PART = st.text("ab_", min_size=1, max_size=5)


@given(st.tuples(_PART, _PART), st.tuples(_PART, _PART))
def test_two_tools_never_share_a_name(first: tuple[str, str], second: tuple[str, str]) -> None:
    assert (tool_name(*first) == tool_name(*second)) == (first == second)


def test_what_a_server_says_is_cleaned_and_bounded() -> None:
    hidden = "Reads\x1b[2J a file\u202e\U000e0041\u200b.\nSecond line."
    schema: dict[str, Any] = {
        "$schema": "https://x",
        "properties": {"p": {"type": "string", "description": "\x07a\u200bb"}},
        "required": ["p"],
    }
    spec = spec_of("n", Tool(name="t", description=hidden, input_schema=schema))
    assert spec.description == "Reads[2J a file.\nSecond line."
    assert spec.parameters == {
        "type": "object",
        "properties": {"p": {"type": "string", "description": "ab"}},
        "required": ["p"],
    }
    deep: dict[str, Any] = {}
    for _ in range(500):
        deep = {"properties": {"x": deep}}
    assert spec_of("n", Tool(name="t", input_schema=deep)).parameters == {"type": "object", "properties": {}}
    wide = {"properties": {f"p{number}": {"enum": ["x" * 900]} for number in range(1000)}, "required": ["p1"]}
    bounded = spec_of("n", Tool(name="t", description="d" * 99_999, input_schema=wide))
    assert size_of(bounded) < LONGEST_SCHEMA
    assert bounded.parameters["required"] == ["p1"]


def test_arguments_are_checked_by_the_servers_schema() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "pattern": {"enum": ["a", "b"]}},
        "required": ["n"],
        "additionalProperties": False,
    }
    check = ArgumentCheck(schema)
    assert check.check({"n": 1, "pattern": "a"}) == {"n": 1, "pattern": "a"}
    with pytest.raises(ValueError, match="n: '1' is not of type 'integer'"):
        check.check({"n": "1"})
    with pytest.raises(ValueError, match="pattern: 'c' is not one of"):
        check.check({"n": 1, "pattern": "c"})
    with pytest.raises(ValueError, match="'m' was unexpected"):
        check.check({"n": 1, "m": 2})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strin"},
        {"$ref": "#"},
        {"$ref": "http://127.0.0.1:9/schema"},
        {"properties": {"a": {"pattern": "(a+)+$"}}},
        {"patternProperties": {"(a+)+$": {}}, "additionalProperties": False},
    ],
)
def test_a_broken_endless_or_slow_schema_leaves_it_to_the_server(schema: dict[str, Any]) -> None:
    arguments = {"a": "a" * 40 + "!", "a" * 40 + "!": 1}
    began = time.monotonic()
    assert ArgumentCheck(schema).check(arguments) == arguments
    assert time.monotonic() - began < 2


def described(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "description": description}


async def test_many_tools_are_found_before_they_are_described(workspace: Path) -> None:
    tools = [described(f"noise_{number}", "Does nothing of use. " * 10) for number in range(30)]
    tools += [described("create_issue", "Opens an issue."), described("list_issues", "Lists issues.")]
    entries = {
        "git": stub_entry(workspace, *tools),
        "b": stub_entry(workspace, described("other", "x" * 500)),
    }
    async with running(workspace, entries, max_characters=2_000) as servers:
        assert servers.names == ["find_tools"]
        [find] = servers.toolbox.specs()
        assert find.description.startswith("Finds tools by what they do. There are 32 of git, 1 of b.")
        found = await servers.call("find_tools", query="create an issue")
        assert found.content.splitlines() == [
            "These can be called now:",
            "mcp__git__create_issue: Opens an issue.",
            "mcp__git__list_issues: Lists issues.",
        ]
        assert servers.names == ["find_tools", "mcp__git__create_issue", "mcp__git__list_issues"]
        assert (await servers.call("mcp__git__create_issue")).ok
        nothing = await servers.call("find_tools", query="zebra")
        assert nothing.content.startswith("Nothing fits. The tools are: mcp__git__noise_0, ")
        await servers.call("find_tools", query="other")
        assert servers.names[-1] == "mcp__b__other"  # what was there keeps its place
    async with running(workspace, entries) as servers:
        assert "find_tools" not in servers.names


async def test_allow_and_deny_of_an_entry_choose_among_its_tools(workspace: Path) -> None:
    entry = {"allow": ["get_*", "put"], "deny": ["get_secret"]}
    entries = {"s": stub_entry(workspace, "get_a", "get_secret", "put", "drop", entry=entry)}
    async with running(workspace, entries) as servers:
        assert servers.names == ["mcp__s__get_a", "mcp__s__put"]
        assert servers.toolbox.get("mcp__s__drop") is None
        assert servers.toolbox.exists("mcp__s__drop")


async def test_a_person_who_is_asked_sees_the_server_and_the_call(workspace: Path) -> None:
    tool = {"name": "drop", "annotations": {"destructiveHint": True}}
    async with running(workspace, {"db": stub_entry(workspace, tool)}) as servers:
        drop = servers.toolbox.get("mcp__db__drop")
        assert drop is not None
        preview = await drop.preview({"table": "users"})
        assert preview is not None
        assert preview.text == 'drop (destructive, says its server)\n{\n  "table": "users"\n}'
        assert preview.where == "MCP server db; no sandbox"
