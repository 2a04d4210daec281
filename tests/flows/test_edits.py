"""Edits of a whole program: proposed, approved, done, taken back, or only shown."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.fixtures import Command, ProviderFactory
from support.flows import log_of, of_type, session_ids, tool_results
from support.provider import FIN, OK, TC, Item

BUGGY = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
FIX = {"path": "calc.py", "old": "return a - b", "new": "return a + b"}


def calls(*wanted: tuple[str, dict[str, Any]], ids: str = "c") -> Sequence[Item]:
    made = [
        TC(index, f"{ids}{index + 1}", name, json.dumps(given)) for index, (name, given) in enumerate(wanted)
    ]
    return (*made, FIN("tool_calls"))


@pytest.fixture
def project(workspace: Path) -> Path:
    (workspace / "calc.py").write_text(BUGGY)
    return workspace


def test_an_edit_that_a_rule_allows(
    single: Command, provider: ProviderFactory, project: Path, home: Path
) -> None:
    server = provider(
        calls(("read_file", {"path": "calc.py"}), ("edit_file", FIX)),
        calls(("write_file", {"path": "new/notes.md", "content": "Fixed.\n"})),
        OK,
        strict=True,
    )
    result = single("--mode", "accept-edits", "fix it", provider=server)
    assert (result.stdout, result.code) == (b"ok\n", 0)
    assert (project / "calc.py").read_text() == RIGHT
    assert (project / "new/notes.md").read_text() == "Fixed.\n"
    assert tool_results(server.bodies[1])["c2"] == "edited calc.py (line 2)"
    types = [entry.event.type for entry in log_of(home)]
    # The log knows before the world does.
    at = types.index("file_changed")
    assert types[at - 1 : at + 2] == ["tool_started", "file_changed", "tool_finished"]


def test_an_edit_that_nobody_allows(single: Command, provider: ProviderFactory, project: Path) -> None:
    server = provider(calls(("edit_file", FIX)), OK, strict=True)
    result = single("fix it", provider=server)
    assert result.code == 4
    assert "--allow 'edit_file(./calc.py)'" in tool_results(server.bodies[1])["c1"]
    assert (project / "calc.py").read_text() == BUGGY


@pytest.mark.parametrize("kept", [True, False])
def test_undo_takes_back_one_change_after_the_other(
    chat: Command, provider: ProviderFactory, project: Path, kept: bool
) -> None:
    server = provider(
        calls(("edit_file", FIX), ("write_file", {"path": "new/a", "content": "x"})),
        OK,
        OK,
        strict=True,
    )
    result = chat(
        "--mode",
        "accept-edits",
        *([] if kept else ["--no-session"]),
        provider=server,
        stdin=b"fix it\n/undo\n/undo\n/undo\nand now?\n",
    )
    assert (result.stdout, result.code) == (b"ok\nok\n", 0)
    assert "new/a is removed again: it was a new file." in result.err
    assert "calc.py is as it was before its last change: +1 -1." in result.err
    assert "No change of a file is left to take back." in result.err
    assert {path.name: path.read_text() for path in project.iterdir()} == {"calc.py": BUGGY}
    # The model is told: what it believes of the files is wrong now.
    told = server.bodies[2]["messages"][-1]["content"]
    assert "The user undid your last change of new/a: it is removed again." in told
    assert "undid your last change of calc.py" in told
    assert told.endswith("and now?")


def test_undo_leaves_what_somebody_else_changed_since(
    chat: Command, provider: ProviderFactory, project: Path
) -> None:
    server = provider(
        calls(("edit_file", FIX)), calls(("shell", {"command": "echo '# mine' >> calc.py"})), OK, strict=True
    )
    result = chat(
        "--allow", "edit_file", "--allow", "shell", provider=server, stdin=b"fix it\n/undo\n/undo force\n"
    )
    assert "calc.py was changed by something else since: it stays as it is." in result.err
    assert "/undo force takes the change back all the same." in result.err
    assert (project / "calc.py").read_text() == BUGGY


def test_a_past_session_is_taken_back_from_a_shell(
    single: Command, chat: Command, provider: ProviderFactory, project: Path, home: Path
) -> None:
    server = provider(
        calls(("edit_file", FIX), ("write_file", {"path": "a/b/c", "content": "x"})), OK, OK, strict=True
    )
    single("--mode", "accept-edits", "fix it", provider=server)
    [session] = session_ids(home)
    one = chat("sessions", "undo", session)
    assert (one.out, one.code) == ("a/b/c is removed again: it was a new file.\n", 0)
    (project / "calc.py").write_text("mine\n")
    refused = chat("sessions", "undo", session, "--all")
    assert (refused.out, refused.code) == ("", 2)
    assert "--force takes the change back all the same." in refused.err
    assert (project / "calc.py").read_text() == "mine\n"
    forced = chat("sessions", "undo", session, "--all", "--force")
    assert forced.out == "calc.py is as it was before its last change: +1 -1.\n"
    assert {path.name: path.read_text() for path in project.iterdir()} == {"calc.py": BUGGY}
    again = chat("sessions", "undo", session)
    assert (again.code, again.out) == (2, "")
    assert "No change of a file is left to take back." in again.err
    assert [event.path for event in of_type(log_of(home), "change_undone")] == ["a/b/c", "calc.py"]
    resumed = single("-c", "and now?", provider=server)
    assert resumed.code == 0
    assert "undid your last change of calc.py" in server.bodies[2]["messages"][-1]["content"]


def test_a_change_is_taken_back_after_the_session_was_resumed(
    chat: Command, provider: ProviderFactory, project: Path
) -> None:
    server = provider(calls(("edit_file", FIX)), OK, strict=True)
    chat("--mode", "accept-edits", provider=server, stdin=b"fix it\n")
    assert (project / "calc.py").read_text() == RIGHT
    result = chat("-c", provider=server, stdin=b"/undo\n")
    assert result.code == 0
    assert (project / "calc.py").read_text() == BUGGY


def git(project: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *words],
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return done.stdout


@pytest.mark.parametrize("command", ["single", "chat"])
def test_a_dry_run_shows_everything_and_does_nothing(
    request: pytest.FixtureRequest, provider: ProviderFactory, project: Path, command: str
) -> None:
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "all")
    server = provider(
        calls(("read_file", {"path": "calc.py"}), ids="r"),
        calls(
            ("edit_file", FIX),
            ("edit_file", {**FIX, "old": "not there"}),
            ("write_file", {"path": "new/a", "content": "x\n"}),
            ("shell", {"command": "touch made"}),
        ),
        OK,
        strict=True,
    )
    run: Command = request.getfixturevalue(command)
    if command == "single":
        result = run("--dry-run", "fix it", provider=server)
    else:
        result = run("--dry-run", provider=server, stdin=b"fix it\n")
    assert (result.stdout, result.code) == (b"ok\n", 0)
    assert git(project, "status", "--porcelain") == ""
    assert (project / "calc.py").read_text() == BUGGY
    assert "return a - b" in tool_results(server.bodies[1])["r1"]
    told = tool_results(server.bodies[2])
    assert told["c1"].startswith("Dry run: this was not done.")
    assert "-    return a - b\n+    return a + b" in told["c1"]
    assert "it would have failed: old is not in calc.py" in told["c2"]
    assert "+++ b/new/a" in told["c3"]
    assert "touch made" in told["c4"]
    ending = result.err[result.err.index("Dry run: nothing was done. This would have been:") :].splitlines()
    assert [line.partition("(")[0] for line in ending[1:4]] == ["1. edit_file", "2. write_file", "3. shell"]
    assert 'command="touch made"' in ending[3]


def test_what_is_denied_is_denied_in_a_dry_run_too(
    single: Command, provider: ProviderFactory, project: Path
) -> None:
    server = provider(calls(("edit_file", FIX)), OK, strict=True)
    result = single("--dry-run", "--deny", "edit_file(*.py)", "fix it", provider=server)
    assert "Denied" in tool_results(server.bodies[1])["c1"]
    assert "Dry run: nothing would have been done." in result.err
