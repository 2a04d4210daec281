"""A failing test is mended: run, read, propose, approve, run again; with what a person may say meanwhile."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from support.fixtures import Command, OpenTerminal, ProviderFactory
from support.flows import tool_results
from support.provider import FIN, TC, Item, T
from support.terminal import Terminal

CODE = "def double(number):\n    return number + number + 1\n"
CHECK = "from double import double\nassert double(4) == 8, double(4)\nprint('all is well')\n"
RUN = "python3 -B check.py"


def call(call_id: str, name: str, **arguments: object) -> tuple[Item, ...]:
    return (TC(0, call_id, name, json.dumps(arguments)), FIN("tool_calls"))


def edit(call_id: str, new: str) -> tuple[Item, ...]:
    return call(call_id, "edit_file", path="double.py", old="    return number + number + 1", new=new)


def project(workspace: Path) -> None:
    (workspace / "double.py").write_text(CODE)
    (workspace / "check.py").write_text(CHECK)
    for command in (
        ["git", "init", "-q"],
        ["git", "add", "."],
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "start"],
    ):
        subprocess.run(command, cwd=workspace, check=True, timeout=30)


def status(workspace: Path) -> str:
    done = subprocess.run(
        ["git", "status", "--porcelain"], cwd=workspace, check=True, capture_output=True, text=True
    )
    return done.stdout


def answer(window: Terminal, what: str, keys: str) -> None:
    window.wait_for(lambda w: what in w.text and "y yes | n no" in "\n".join(w.screen))
    window.send(keys)


def test_a_failing_test_is_mended_and_every_step_was_approved(
    terminal: OpenTerminal, provider: ProviderFactory, workspace: Path
) -> None:
    project(workspace)
    server = provider(
        call("c1", "shell", command=RUN),
        call("c2", "read_file", path="double.py"),
        edit("c3", "    return 2 * number"),
        call("c4", "shell", command=RUN),
        [T("It is mended."), FIN("stop")],
        strict=True,
    )
    window = terminal("agent-chat", "--allow", f"shell({RUN})", provider=server, rows=50)
    window.wait_for("Enter sends")
    window.send("make check.py pass\r")
    answer(window, "+    return 2 * number", "y\r")
    window.wait_for("It is mended.")
    assert "-    return number + number + 1" in window.text
    assert "AssertionError: 9" in tool_results(server.bodies[1])["c1"]
    assert "all is well" in tool_results(server.bodies[4])["c4"]
    assert (workspace / "double.py").read_text() == CODE.replace("number + number + 1", "2 * number")
    assert status(workspace) == " M double.py\n"


def test_an_edit_refused_with_instructions_is_followed_by_another(
    terminal: OpenTerminal, provider: ProviderFactory, workspace: Path
) -> None:
    project(workspace)
    server = provider(
        call("c1", "read_file", path="double.py"),
        edit("c2", "    return 2 * number"),
        edit("c3", "    return number + number"),
        [T("As you wish."), FIN("stop")],
        strict=True,
    )
    window = terminal("agent-chat", provider=server, rows=50)
    window.wait_for("Enter sends")
    window.send("make check.py pass\r")
    answer(window, "+    return 2 * number", "i keep the addition\r")
    answer(window, "+    return number + number\n", "y\r")
    window.wait_for("As you wish.")
    assert "keep the addition" in tool_results(server.bodies[2])["c2"]
    assert (workspace / "double.py").read_text() == CODE.replace(" + 1", "")


def test_a_dry_run_leaves_the_tree_as_it_was(
    single: Command, provider: ProviderFactory, workspace: Path
) -> None:
    project(workspace)
    server = provider(
        call("c1", "read_file", path="double.py"),
        edit("c2", "    return 2 * number"),
        call("c3", "shell", command="touch made"),
        [T("That is what I would do."), FIN("stop")],
        strict=True,
    )
    done = single("make check.py pass", "--dry-run", provider=server)
    assert (done.out, done.code) == ("That is what I would do.\n", 0)
    assert 'edit_file(path="double.py"' in done.err
    assert '2. shell(command="touch made")' in done.err
    assert "+    return 2 * number" in tool_results(server.bodies[2])["c2"]
    assert status(workspace) == ""
