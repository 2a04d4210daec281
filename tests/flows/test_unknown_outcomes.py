"""A process that is killed while something with effects runs: its outcome is unknown, and that is said."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

from support.fixtures import Command, ProviderFactory
from support.flows import log_of, of_type, session_ids, tool_results
from support.process import Program, clean_env, wait_until
from support.provider import FIN, OK, TC, Item, ScriptedProvider


def calls(*wanted: tuple[str, dict[str, Any]]) -> list[Item]:
    made = [TC(index, f"c{index + 1}", name, json.dumps(given)) for index, (name, given) in enumerate(wanted)]
    return [*made, FIN("tool_calls")]


SLOW = ("shell", {"command": "echo once >> count; sleep 300", "timeout": 300})


def killed_in_the_middle(server: ScriptedProvider, home: Path, workspace: Path) -> None:
    words = ["agent-single", "--allow", "shell", "--allow", "write_file", "go"]
    with Program(words, env=clean_env(home, server), cwd=workspace) as program:
        program.close_stdin()
        wait_until(lambda: (workspace / "count").exists(), "the command runs")
        program.signal(signal.SIGKILL)
        assert program.wait().code == 137


def test_a_call_that_ran_is_an_unknown_outcome_and_is_not_run_again(
    chat: Command, provider: ProviderFactory, home: Path, workspace: Path
) -> None:
    server = provider(calls(SLOW, ("write_file", {"path": "after", "content": "x"})), OK, strict=True)
    killed_in_the_middle(server, home, workspace)
    result = chat("-c", "--allow", "shell", "--allow", "write_file", provider=server, stdin=b"and?\n")
    assert (result.stdout, result.code) == (b"ok\n", 0)
    told = tool_results(server.bodies[1])
    assert told["c1"].startswith("Unknown outcome: the program ended while this call was running.")
    assert told["c2"].startswith("Not run")
    assert (workspace / "count").read_text() == "once\n"
    assert not (workspace / "after").exists()
    entries = log_of(home)
    assert [event.call_id for event in of_type(entries, "tool_started")] == ["c1"]


def test_what_was_changed_before_can_still_be_taken_back(
    chat: Command, provider: ProviderFactory, home: Path, workspace: Path
) -> None:
    server = provider(calls(("write_file", {"path": "new/a", "content": "x"}), SLOW), strict=True)
    killed_in_the_middle(server, home, workspace)
    assert (workspace / "new/a").read_text() == "x"
    [session] = session_ids(home)
    assert chat("sessions", "undo", session).out == "new/a is removed again: it was a new file.\n"
    assert not (workspace / "new").exists()
