"""Instruction files in a session: told at its start, and the same bytes ever after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.fixtures import Command, ProviderFactory
from support.flows import tool_results
from support.provider import FIN, OK, TC


def system(body: dict[str, Any]) -> str:
    first = body["messages"][0]
    assert first["role"] == "system"
    return first["content"]


def test_they_are_told_once_and_stay_as_they_were_when_the_session_goes_on(
    single: Command, chat: Command, provider: ProviderFactory, workspace: Path
) -> None:
    file = workspace / "AGENTS.md"
    file.write_text("Speak of trees.")
    server = provider(OK, OK, OK, OK)
    ignored = single("hi", provider=server)
    assert f"{file} is ignored: you have not trusted this folder" in ignored.err
    assert "trees" not in system(server.bodies[0])
    assert chat("config", "trust", ".").code == 0
    told = single("hi", provider=server)
    assert "AGENTS.md" not in told.err
    assert system(server.bodies[1]).endswith(f"Instructions from {file}:\n\nSpeak of trees.")
    file.write_text("Speak of stones.")
    single("-c", "hi", provider=server)
    assert system(server.bodies[2]) == system(server.bodies[1])
    single("--system", "Be brief.", "hi", provider=server)
    assert system(server.bodies[3]) == f"Be brief.\n\nInstructions from {file}:\n\nSpeak of stones."


def test_the_setting_leaves_them_out(
    single: Command, chat: Command, provider: ProviderFactory, workspace: Path
) -> None:
    (workspace / "AGENTS.md").write_text("Speak of trees.")
    chat("config", "trust", ".")
    server = provider(OK)
    result = single("-C", "instructions=false", "hi", provider=server)
    assert (result.code, "trees" in system(server.bodies[0])) == (0, False)


def test_a_written_command_is_sent_as_a_message(
    chat: Command, provider: ProviderFactory, workspace: Path
) -> None:
    file = workspace / ".agent-chat" / "commands" / "review.md"
    file.parent.mkdir(parents=True)
    file.write_text("Review $ARGUMENTS with care.")
    chat("config", "trust", ".")
    server = provider(OK)
    result = chat(stdin=b"/review a.py\n", provider=server)
    assert (result.stdout, result.code) == (b"ok\n", 0)
    assert server.bodies[0]["messages"][-1]["content"] == "Review a.py with care."


def test_a_skill_is_told_by_its_name_and_read_when_it_is_used(
    single: Command, chat: Command, provider: ProviderFactory, workspace: Path
) -> None:
    file = workspace / ".agents" / "skills" / "sums" / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\ndescription: adds numbers\n---\nCount on your fingers.")
    chat("config", "trust", ".")
    call = (TC(0, "c1", "read_skill", '{"name": "sums"}'), FIN("tool_calls"))
    server = provider(call, OK, OK, strict=True)
    result = single("hi", provider=server)
    assert (result.stdout, result.code) == (b"ok\n", 0)
    assert system(server.bodies[0]).endswith("\n- sums: adds numbers")
    assert "fingers" not in str(server.bodies[0])
    assert tool_results(server.bodies[1])["c1"].startswith("Count on your fingers.\n\n[The files")
    single("--no-tools", "hi", provider=server)
    assert "sums" not in system(server.bodies[2])
