"""What files of servers may say, and what is said of what they may not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_chat.tools.mcp.config import Confined, Http, Origin, Parsed, Stdio, parse_servers

ENVIRON = {"TOKEN": "t-1", "EMPTY": "", "OPENAI_API_KEY": "sk-1"}


def parse(entry: Any, origin: Origin = "user") -> Parsed:
    text = json.dumps({"mcpServers": {"x": entry}})
    return parse_servers(text, "f.json", origin, ENVIRON, ("OPENAI_API_KEY",) if origin == "project" else ())


def test_both_kinds_with_variables() -> None:
    [stdio] = parse(
        {
            "command": "${CMD:-npx}",
            "args": ["-y", "${EMPTY:-pkg}"],
            "env": {"T": "${TOKEN}"},
            "allow": ["get_*"],
        }
    ).servers
    assert stdio.transport == Stdio("npx", ("-y", "pkg"), {"T": "t-1"}, None)
    assert (stdio.allow, stdio.sandbox, stdio.trust, stdio.timeout) == (("get_*",), Confined(), False, 120.0)
    [http] = parse(
        {"type": "streamable-http", "url": "https://h/mcp", "headers": {"A": "Bearer ${TOKEN}"}}
    ).servers
    assert http.transport == Http("https://h/mcp", {"A": "Bearer t-1"})
    assert parse({"command": "x", "disabled": True}) == Parsed((), (), ())


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"comand": "npx"}, "f.json: mcpServers.x.comand: did you mean 'command'?"),
        ({"command": "npx", "Args": []}, "mcpServers.x.Args: did you mean 'args'?"),
        ({"httpUrl": "https://h"}, "mcpServers.x.httpUrl: did you mean 'url'?"),
        ({}, "mcpServers.x: it has neither 'command' nor 'url'"),
        ({"command": "a", "url": "https://h"}, "it has both"),
        ({"command": "a", "args": "b"}, "mcpServers.x.args: it must be a list of texts"),
        ({"command": "a", "env": {"K": None}}, "mcpServers.x.env.K: it must be text"),
        ({"command": "a", "env": {"K": "${NOPE}"}}, "${NOPE} is not set; set it, or write ${NOPE:-default}"),
        ({"command": "a", "timeout": 30000}, "a number of seconds, more than 0 and at most 3600"),
        ({"type": "sse", "url": "https://h"}, "'sse' is a transport of the past"),
        ({"type": "htp", "url": "https://h"}, "'htp' is no transport"),
        ({"url": "h:80/mcp"}, "write the whole address"),
        ({"url": "https://h", "headers": {"A": "日本"}}, "mcpServers.x.headers.A: only printable ASCII"),
        ({"command": "a", "sandbox": {"netwrok": True}}, "sandbox.netwrok: did you mean 'network'?"),
        ("npx", "mcpServers.x: it must be an object"),
    ],
)
def test_mistakes_have_a_place_and_advice(entry: Any, said: str) -> None:
    parsed = parse(entry)
    assert parsed.servers == ()
    [mistake] = parsed.mistakes
    assert said in str(mistake)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"mcpServers": {"a": }}', "f.json, line 1, column 22: this is no JSON"),
        ('{"mcp_servers": {}}', "did you mean 'mcpServers'?"),
        ("[]", "it must be a JSON object"),
        ('{"mcpServers": {"a": {}, "a": {}}}', "'a' stands there twice"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_mistakes_of_a_whole_file(text: str, said: str) -> None:
    parsed = parse_servers(text, "f.json", "user", {})
    assert said in str(parsed.mistakes[0]) or "recursion" in str(parsed.mistakes[0])


def test_one_mistake_costs_one_server_and_keys_of_other_clients_nothing() -> None:
    text = json.dumps(
        {"mcpServers": {"bad": {"command": 1}, "good": {"command": "a", "autoApprove": ["x"], "icon": "i"}}}
    )
    parsed = parse_servers(text, "f.json", "user", {})
    assert [server.name for server in parsed.servers] == ["good"]
    assert len(parsed.mistakes) == 1


def test_a_project_cannot_vouch_leave_the_sandbox_or_have_the_models_keys() -> None:
    wanted = {"command": "a", "trust": True, "sandbox": False}
    parsed = parse(wanted, "project")
    assert (parsed.servers[0].trust, parsed.servers[0].sandbox) == (False, Confined())
    assert [warning.split(": ")[1] for warning in parsed.warnings] == [
        "mcpServers.x.trust is ignored",
        "mcpServers.x.sandbox is ignored",
    ]
    assert (parse(wanted).servers[0].trust, parse(wanted).servers[0].sandbox) == (True, None)
    shown = parse({"command": "a", "sandbox": {"readable": ["/home"], "network": False}}, "project")
    assert shown.servers[0].sandbox == Confined(network=False)
    stolen = parse({"command": "a", "env": {"K": "${OPENAI_API_KEY}"}}, "project")
    assert "holds a model's key" in str(stolen.mistakes[0])
    assert parse({"command": "a", "env": {"K": "${OPENAI_API_KEY}"}}).mistakes == ()
