"""Runs of the whole program, again from their log alone: nothing is asked, done or different."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from support.fixtures import Command, OpenTerminal, ProviderFactory
from support.flows import log_of, of_type, session_ids, state_folder, tool_results
from support.process import Program, clean_env
from support.provider import FIN, HANG, OK, TC, T
from support.recordings import FOLDER, SCENARIOS, TRANSPORTS, Scenario, calls, record
from support.session_logs import damage_row

from agent_chat.engine.replay.run import Replay
from agent_chat.sessions.recording import read_recording

TOOL = '''
from agent_chat import tool

@tool(effect="read")
def weather(city: str) -> str:
    """The weather."""
    return "rain in " + city
'''


def replayed(chat: Command, target: str, *args: str) -> dict[str, Any]:
    """What `agent-chat replay --output json` prints. No provider, no key."""
    result = chat("replay", target, "--output", "json", *args, timeout=60)
    assert result.err == ""
    value = json.loads(result.stdout)
    assert result.code == (0 if value["same"] else 1)
    return value


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_recorded_run_happens_again_without_network(
    chat: Command, home: Path, workspace: Path, tmp_path: Path, scenario: Scenario
) -> None:
    file = tmp_path / "run.jsonl"
    record(scenario, home, workspace, file)
    entries = log_of(home)
    assert set(scenario.holds) <= {entry.event.type for entry in entries}
    for name in scenario.files:
        (workspace / name).unlink()
    before = sorted(path.name for path in workspace.rglob("*"))
    for target in (session_ids(home)[0], str(file)):
        value = replayed(chat, target)
        assert value["same"], value
        assert [turn["turn"] for turn in value["turns"]] == list(range(1, entries[-1].turn + 1))
        assert all(turn["ended"] for turn in value["turns"])
    assert sorted(path.name for path in workspace.rglob("*")) == before
    assert len(session_ids(home)) == 1


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_what_was_recorded_before_is_what_the_program_does_today(chat: Command, scenario: Scenario) -> None:
    value = replayed(chat, str(FOLDER / f"{scenario.name}-direct.jsonl"))
    assert value["same"], value


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
async def test_what_was_recorded_through_litellm_needs_no_tools_either(scenario: Scenario) -> None:
    replay = Replay(read_recording(FOLDER / f"{scenario.name}-litellm.jsonl").entries)
    assert [str(turn.difference) async for turn in replay.turns() if not turn.is_same] == []


def test_the_recordings_are_those_of_the_scenarios() -> None:
    wanted = {f"{scenario.name}-{transport}.jsonl" for scenario in SCENARIOS for transport in TRANSPORTS}
    assert {path.name for path in FOLDER.iterdir()} == wanted


def test_an_interrupt_comes_where_it_came(
    chat: Command, provider: ProviderFactory, home: Path, workspace: Path
) -> None:
    server = provider([TC(0, "c1", "calc", '{"expression":"1+1"}'), FIN("tool_calls")], [T("half "), HANG])
    with Program(["agent-single", "hi"], env=clean_env(home, server), cwd=workspace) as program:
        program.close_stdin()
        server.wait_for_request(2)
        program.signal(signal.SIGINT)
        assert program.wait().code == 130
    assert of_type(log_of(home), "reply_interrupted")
    value = replayed(chat, session_ids(home)[0])
    assert value["same"], value
    assert value["turns"][0]["ended"]


def test_a_turn_that_was_killed_happens_again_as_far_as_it_went(
    chat: Command, provider: ProviderFactory, home: Path, workspace: Path
) -> None:
    server = provider([TC(0, "c1", "calc", '{"expression":"1+1"}'), FIN("tool_calls")], HANG, OK)
    with Program(["agent-single", "hi"], env=clean_env(home, server), cwd=workspace) as program:
        program.close_stdin()
        server.wait_for_request(2)
        program.signal(signal.SIGKILL)
        program.wait()
    assert chat("-c", provider=server, stdin=b"go on\n").code == 0
    value = replayed(chat, session_ids(home)[0])
    assert value["same"], value
    assert [turn["ended"] for turn in value["turns"]] == [False, True]
    assert "here the program died" in chat("replay", session_ids(home)[0]).out


def test_a_person_is_not_asked_again(
    chat: Command, terminal: OpenTerminal, provider: ProviderFactory, home: Path, workspace: Path
) -> None:
    server = provider(calls(("write_file", {"path": "x.txt", "content": "x\n"})), OK)
    window = terminal("agent-chat", provider=server)
    window.wait_for("Enter sends")
    window.send("write\r")
    window.wait_for("y yes | n no")
    window.send("y\r")
    window.wait_for(lambda w: "ok" in w.text.splitlines())
    window.send_key("ctrl-d")
    assert window.wait_exit() == 0
    (workspace / "x.txt").unlink()
    assert of_type(log_of(home), "approval_resolved")[0].allowed
    value = replayed(chat, session_ids(home)[0])
    assert value["same"], value
    assert not (workspace / "x.txt").exists()


@pytest.fixture
def with_tool(chat: Command, provider: ProviderFactory, workspace: Path) -> Path:
    """The file of a tool that was used in a session."""
    path = workspace / "tools.py"
    path.write_text(TOOL)
    server = provider(calls(("weather", {"city": "Bergen"})), OK)
    assert chat("--tools-from", str(path), provider=server, stdin=b"how is it?\n").code == 0
    return path


def test_a_tool_that_takes_something_else_now_is_named(chat: Command, home: Path, with_tool: Path) -> None:
    with_tool.write_text(TOOL.replace("city", "town"))
    result = chat("replay", session_ids(home)[0], "--tools-from", str(with_tool))
    assert result.code == 1
    assert "turn 1, iteration 1, event " in result.out
    assert "(tool_started of weather (c1))" in result.out
    assert 'logged:   tool_started of weather (c1): {"arguments": {"city": "Bergen"}' in result.out
    assert "replayed: intent_rejected of weather (c1)" in result.out


def test_a_tool_with_another_effect_is_named(chat: Command, home: Path, with_tool: Path) -> None:
    with_tool.write_text(TOOL.replace('"read"', '"network"'))
    value = replayed(chat, session_ids(home)[0], "--tools-from", str(with_tool))
    difference = value["turns"][0]["difference"]
    assert (difference["field"], difference["expected"], difference["got"]) == (
        "effect",
        '"read"',
        '"network"',
    )


def test_a_tool_that_gives_something_else_now_is_named_where_it_is_run(
    chat: Command, home: Path, with_tool: Path
) -> None:
    (session,) = session_ids(home)
    args = ("--tools-from", str(with_tool))
    assert replayed(chat, session, "--reads", *args)["same"]
    with_tool.write_text(TOOL.replace("rain", "sun"))
    assert replayed(chat, session, *args)["same"]
    value = replayed(chat, session, "--reads", *args)
    difference = value["turns"][0]["difference"]
    assert (difference["event"], difference["field"]) == ("tool_finished of weather (c1)", "content")
    assert (difference["expected"], difference["got"]) == ('"rain in Bergen"', '"sun in Bergen"')


def test_a_tool_that_is_gone_is_taken_as_the_log_knows_it(chat: Command, home: Path, with_tool: Path) -> None:
    with_tool.unlink()
    assert replayed(chat, session_ids(home)[0])["same"]


def test_a_turn_whose_log_is_damaged_is_told_and_the_others_are_replayed(
    chat: Command, provider: ProviderFactory, home: Path
) -> None:
    assert chat(provider=provider(OK, OK), stdin=b"one\ntwo\n").code == 0
    damage_row(state_folder(home), 6, "body", "{not json")
    result = chat("replay", session_ids(home)[0])
    assert result.code == 1
    assert result.out.splitlines()[0] == "turn 1: not replayed: Its log is damaged at entry 6."
    assert result.out.splitlines()[1].endswith("no difference")


def test_one_turn_of_several(chat: Command, provider: ProviderFactory, home: Path) -> None:
    assert chat(provider=provider(OK, OK, OK), stdin=b"one\ntwo\nthree\n").code == 0
    (session,) = session_ids(home)
    assert [turn["turn"] for turn in replayed(chat, session, "--turn", "2")["turns"]] == [2]
    result = chat("replay", session, "--turn", "7")
    assert (result.code, result.out) == (2, "")
    assert "There is no turn 7 in this log." in result.err
    assert "It has turns 1 to 3." in result.err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("nope",), "There is no session 'nope'"),
        (("nope.jsonl",), "cannot be read"),
        (("x", "--from", "2"), "--from is about going on for real."),
        (("x", "--live", "--reads"), "--reads is about comparing"),
        (("x", "-c"), "named without an option"),
        (("x.jsonl", "--live"), "A recording cannot go on for real"),
    ],
)
def test_what_cannot_be_replayed(chat: Command, args: tuple[str, ...], said: str) -> None:
    result = chat("replay", *args)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


def test_going_on_for_real_is_a_new_session(
    chat: Command, provider: ProviderFactory, home: Path, workspace: Path
) -> None:
    edit = calls(("write_file", {"path": "a.txt", "content": "a\n"}))
    server = provider(OK, calls(("calc", {"expression": "6*7"})), edit, OK, strict=True)
    assert chat("--mode", "accept-edits", provider=server, stdin=b"hello\ndo it\n").code == 0
    (session,) = session_ids(home)
    before = log_of(home, session)
    (workspace / "a.txt").unlink()
    again = calls(("write_file", {"path": "b.txt", "content": "b\n"}))
    server = provider(again, [T("done anew"), FIN("stop")], strict=True)
    result = chat("replay", session, "--from", "2", "--live", "--mode", "accept-edits", provider=server)
    assert (result.out, result.code) == ("done anew\n", 0)
    # The first iteration is the log's; what it observed is what the second one asks with.
    assert tool_results(server.bodies[0]) == {"c1": "42"}
    assert [path.name for path in workspace.iterdir()] == ["b.txt"]
    assert log_of(home, session) == before
    new = next(one for one in session_ids(home) if one != session)
    assert new in result.err
    entries = log_of(home, new)
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    server = provider(OK, strict=True)
    assert chat("-r", new, provider=server, stdin=b"more\n").code == 0
    assert [message["role"] for message in server.bodies[0]["messages"]] == [
        *(
            "system",
            "user",
            "assistant",
            "user",
            "assistant",
            "tool",
            "assistant",
            "tool",
            "assistant",
            "user",
        )
    ]


def test_another_model_on_the_same_turn(chat: Command, provider: ProviderFactory, home: Path) -> None:
    server = provider(calls(("calc", {"expression": "6*7"})), OK, strict=True)
    assert chat(provider=server, stdin=b"reckon\n").code == 0
    (session,) = session_ids(home)
    server = provider(calls(("calc", {"expression": "6*7"})), [T("forty-two"), FIN("stop")], strict=True)
    result = chat("replay", session, "--model", "openai/other", "--output", "json", provider=server)
    value = json.loads(result.stdout)
    assert result.code == 0
    assert (value["first_difference"], value["reason"]) == (None, "final_answer")
    assert (value["logged"]["answer"], value["tried"]["answer"]) == ("ok", "forty-two")
    assert tool_results(server.bodies[1]) == {"c1": "42"}


def test_another_model_that_asks_for_something_new_is_stopped_there(
    chat: Command, provider: ProviderFactory, home: Path, workspace: Path
) -> None:
    server = provider(calls(("calc", {"expression": "6*7"})), OK, strict=True)
    assert chat(provider=server, stdin=b"reckon\n").code == 0
    (session,) = session_ids(home)
    other = calls(("write_file", {"path": "x", "content": "x"}))
    server = provider(other, strict=True)
    result = chat("replay", session, "--model", "openai/other", provider=server)
    assert result.code == 1
    assert "The calls differ from call 1 on:" in result.out
    assert 'logged: calc({"expression": "6*7"})' in result.out
    assert "tried:  write_file(" in result.out
    assert list(workspace.iterdir()) == []
    server = provider(other, OK, strict=True)
    result = chat(
        *("replay", session, "--model", "openai/other", "--live", "--mode", "accept-edits"), provider=server
    )
    assert result.code == 0
    assert [path.name for path in workspace.iterdir()] == ["x"]


def test_a_recorded_run_is_shown_again(chat: Command, single: Command, tmp_path: Path) -> None:
    file = str(FOLDER / "parallel-direct.jsonl")
    result = single("--replay", file)
    assert (result.out, result.code) == ("It is 42.\n", 0)
    assert '* calc(expression="6*7")' in result.err
    assert single("--replay", file, "look around").out == "It is 42.\n"
    other = single("--replay", file, "look elsewhere")
    assert (other.out, other.code) == ("", 2)
    assert "was recorded with another prompt" in other.err
    value = json.loads(single("--replay", file, "--output", "json").stdout)
    assert (value["answer"], value["exit_code"]) == ("It is 42.", 0)
    assert chat("--replay", str(FOLDER / "retries-direct.jsonl")).out == "ok\nok\n"
    assert single("--replay", str(FOLDER / "limit-direct.jsonl")).code == 3
    changed = tmp_path / "changed.jsonl"
    changed.write_text(Path(file).read_text().replace('"name":"calc"', '"name":"clac"', 1))
    result = single("--replay", str(changed))
    assert result.code == 1
    assert "turn 1, iteration 1" in result.err


def test_a_resumed_session_is_recorded_with_its_past(
    chat: Command, provider: ProviderFactory, tmp_path: Path
) -> None:
    assert chat(provider=provider(OK), stdin=b"one\n").code == 0
    file = tmp_path / "run.jsonl"
    server = provider([T("second"), FIN("stop")])
    assert chat("-c", "--record", str(file), provider=server, stdin=b"two\n").code == 0
    assert len(replayed(chat, str(file))["turns"]) == 2
    assert chat("--replay", str(file)).out == "second\n"


def test_a_recording_that_cannot_be_written_is_said_before_anything_is_sent(
    single: Command, provider: ProviderFactory, tmp_path: Path
) -> None:
    result = single("--record", str(tmp_path / "no" / "run.jsonl"), "hi", provider=provider())
    assert (result.out, result.code) == ("", 2)
    assert "cannot be written" in result.err
