"""Processes that are told to end, or killed, in the middle of a turn; and what the next one finds."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from support.fixtures import Command, ProviderFactory
from support.flows import log_of, of_type, said, tool_results, user_texts
from support.process import BIN, Program, clean_env, tree, wait_gone, wait_until
from support.provider import FIN, HANG, OK, TC, Item, ScriptedProvider, T

DONE_CALL = [TC(0, "c1", "calc", '{"expression":"1+1"}'), FIN("tool_calls")]


def talk(server: ScriptedProvider, home: Path, workspace: Path, *args: str) -> Program:
    """`agent-chat` at the end of a pipe that stays open."""
    return Program(["agent-chat", *args], env=clean_env(home, server), cwd=workspace)


def test_kill_while_the_model_is_silent(
    chat: Command, provider: ProviderFactory, home: Path, workspace: Path
) -> None:
    server = provider(OK, DONE_CALL, [T("part "), HANG], OK, strict=True)
    with talk(server, home, workspace) as program:
        program.send(b"first\nsecond\n")
        server.wait_for_request(3)
        program.signal(signal.SIGKILL)
        assert program.wait().code == 137
    result = chat("-c", provider=server, stdin=b"third\n")
    assert (result.stdout, result.code) == (b"ok\n", 0)
    roles = [role for role, _ in said(server.bodies[3])]
    # Half an answer that nobody saw the end of is not kept; what was done is.
    assert roles == ["user", "assistant", "user", "assistant", "tool", "user"]
    assert tool_results(server.bodies[3]) == {"c1": "2"}
    entries = log_of(home)
    assert user_texts(entries) == ["first", "second", "third"]
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert len(of_type(entries, "tool_started")) == 1


@pytest.fixture
def endless_search(workspace: Path) -> str:
    """Arguments of `search_text` with which it never comes to its end."""
    (workspace / "a.txt").write_text("a" * 60 + "!\n")
    return '{"query":"(a|aa)+$","regex":true}'


def running(server: ScriptedProvider, home: Path, workspace: Path) -> Program:
    """`agent-single`, without ripgrep, whose time for such a search is short."""
    env = clean_env(home, server, PATH=f"{BIN}:/usr/bin:/bin")
    assert shutil.which("rg", path=env["PATH"]) is None
    program = Program(["agent-single", "search"], env=env, cwd=workspace)
    program.close_stdin()
    return program


def three_calls(search: str) -> list[Item]:
    return [
        TC(0, "c1", "calc", '{"expression":"1+1"}'),
        TC(1, "c2", "search_text", search),
        FIN("tool_calls"),
    ]


def test_kill_while_a_tool_runs(
    chat: Command, provider: ProviderFactory, home: Path, workspace: Path, endless_search: str
) -> None:
    server = provider(three_calls(endless_search), OK, strict=True)
    with running(server, home, workspace) as program:
        program.wait_for_output("calc (", stream="stderr")
        wait_until(lambda: bool(tree(program.pid)), "the search runs")
        (search,) = tree(program.pid)
        program.signal(signal.SIGKILL)
        assert program.wait().code == 137
        os.kill(search, signal.SIGKILL)
    result = chat("-c", provider=server, stdin=b"go on\n")
    assert (result.stdout, result.code) == (b"ok\n", 0)
    results = tool_results(server.bodies[1])
    assert results["c1"] == "2"
    assert results["c2"].startswith("Unknown outcome")
    assert len(of_type(log_of(home), "tool_started")) == 2


def test_ctrl_c_while_a_tool_runs(
    chat: Command, provider: ProviderFactory, home: Path, workspace: Path, endless_search: str
) -> None:
    server = provider(three_calls(endless_search), OK, strict=True)
    with running(server, home, workspace) as program:
        program.wait_for_output("calc (", stream="stderr")
        wait_until(lambda: bool(tree(program.pid)), "the search runs")
        children = tree(program.pid)
        program.signal(signal.SIGINT)
        assert program.wait().code == 130
        wait_gone(children)
    assert chat("-c", provider=server, stdin=b"go on\n").stdout == b"ok\n"
    assert "interrupted by the user" in tool_results(server.bodies[1])["c2"]


@pytest.mark.parametrize(
    ("number", "code", "reason"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "terminated"),
        (signal.SIGHUP, 129, "terminated"),
    ],
)
def test_a_signal_ends_a_single_run_with_a_valid_log(
    single: Command,
    provider: ProviderFactory,
    home: Path,
    workspace: Path,
    number: signal.Signals,
    code: int,
    reason: str,
) -> None:
    server = provider(DONE_CALL, HANG, OK, strict=True)
    with Program(["agent-single", "hi"], env=clean_env(home, server), cwd=workspace) as program:
        program.close_stdin()
        request = server.wait_for_request(2)
        program.signal(number)
        result = program.wait()
    assert (result.stdout, result.code) == (b"", code)
    assert "Traceback" not in result.err
    request.wait_closed_early()
    entries = log_of(home)
    assert of_type(entries, "turn_ended")[0].reason == reason
    assert of_type(entries, "session_ended")
    assert single("-c", "continue", provider=server).stdout == b"ok\n"
    assert [role for role, _ in said(server.bodies[2])] == ["user", "assistant", "tool", "user"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_a_chat(
    provider: ProviderFactory, home: Path, workspace: Path, number: signal.Signals, code: int
) -> None:
    server = provider(OK, [T("x"), HANG], strict=True)
    with talk(server, home, workspace) as program:
        program.send(b"first\nsecond\nthird\n")
        server.wait_for_request(2)
        program.signal(number)
        result = program.wait()
    assert (result.stdout, result.code) == (b"ok\n", code)
    assert "Traceback" not in result.err
    entries = log_of(home)
    assert user_texts(entries) == ["first", "second"]
    assert [end.reason for end in of_type(entries, "turn_ended")] == ["final_answer", "terminated"]
    assert of_type(entries, "session_ended")[0].reason == "terminated"


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_a_chat_that_waits_for_a_line(
    provider: ProviderFactory, home: Path, workspace: Path, number: signal.Signals, code: int
) -> None:
    server = provider(OK, strict=True)
    with talk(server, home, workspace) as program:
        program.send(b"first\n")
        program.wait_for_output("ok\n")
        program.signal(number)
        result = program.wait()
    assert (result.stdout, result.stderr, result.code) == (b"ok\n", b"", code)


def test_ctrl_c_ends_a_chat_that_is_fed_from_a_pipe(
    provider: ProviderFactory, home: Path, workspace: Path
) -> None:
    server = provider(HANG, strict=True)
    with talk(server, home, workspace) as program:
        program.send(b"first\nsecond\n")
        server.wait_for_request(1)
        program.signal(signal.SIGINT)
        result = program.wait()
    assert (result.stdout, result.code) == (b"", 130)
    assert user_texts(log_of(home)) == ["first"]
    assert of_type(log_of(home), "session_ended")[0].reason == "interrupted"


def test_waiting_for_an_input_that_does_not_come_is_said_and_can_be_stopped(
    provider: ProviderFactory, home: Path, workspace: Path
) -> None:
    with Program(["agent-single", "hi"], env=clean_env(home, provider()), cwd=workspace) as program:
        program.wait_for_output("Waiting for the end of standard input", stream="stderr")
        program.signal(signal.SIGINT)
        result = program.wait()
    assert (result.stdout, result.code) == (b"", 130)
    assert "Traceback" not in result.err


def test_two_signals_in_a_row_end_a_single_run_as_one_does(
    provider: ProviderFactory, home: Path, workspace: Path
) -> None:
    server = provider(HANG)
    with Program(
        ["agent-single", "--output", "json", "hi"], env=clean_env(home, server), cwd=workspace
    ) as program:
        program.close_stdin()
        server.wait_for_request(1)
        program.signal(signal.SIGTERM)
        program.signal(signal.SIGINT)
        result = program.wait()
    assert result.code in (130, 143)
    assert json.loads(result.stdout)["exit_code"] == result.code
    assert "Traceback" not in result.err
    assert of_type(log_of(home), "turn_ended")[0].kind == "cancelled"
