"""Putting any subprocess into the sandbox: a server that talks over its standard input and output."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.process import tree, wait_gone, wait_until
from support.sandboxes import CONFINED, EVERY, SECRET, OpenSandbox

from agent_chat.sandbox.confinement import Kind, SandboxUnavailable, choose, wrap
from agent_chat.sandbox.landlock import version
from agent_chat.sandbox.profile import standard_profile

CAT = ("sh", "-c", 'while read -r line; do echo "got $line"; done')


def start(
    argv: tuple[str, ...], kind: Kind, workspace: Path, environ: dict[str, str]
) -> subprocess.Popen[bytes]:
    wrapped = wrap(argv, standard_profile(workspace, environ), env=environ, confinement=choose(kind))
    return subprocess.Popen(
        wrapped.argv, env=wrapped.env, cwd=workspace, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


@pytest.mark.parametrize("kind", EVERY)
def test_a_server_is_talked_to_and_ends_with_its_input(
    kind: Kind, open_sandbox: OpenSandbox, workspace: Path, environ: dict[str, str]
) -> None:
    open_sandbox(kind)
    with start(CAT, kind, workspace, environ) as server:
        output, _ = server.communicate(b"one\ntwo\n", timeout=20)
        assert output == b"got one\ngot two\n"
        assert server.returncode == 0


@pytest.mark.parametrize("kind", CONFINED)
def test_a_server_is_confined(
    kind: Kind, open_sandbox: OpenSandbox, workspace: Path, home: Path, environ: dict[str, str]
) -> None:
    open_sandbox(kind)
    line = f"cat {home}/.ssh/id_ed25519; echo x > here; echo x > {home}/there; cat here"
    with start(("sh", "-c", line), kind, workspace, environ) as server:
        output, _ = server.communicate(timeout=20)
    assert SECRET.encode() not in output
    assert output == b"x\n"
    assert not (home / "there").exists()


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("end", ["exit", "terminate"])
def test_r51_no_process_of_a_server_outlives_it(
    end: str, kind: Kind, open_sandbox: OpenSandbox, workspace: Path, environ: dict[str, str]
) -> None:
    """Its child ignores SIGTERM and has left its process group."""
    open_sandbox(kind)
    line = "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 62.25; :' & echo ready; read -r line"
    with start(("sh", "-c", line), kind, workspace, environ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        wait_until(lambda: len(tree(server.pid)) >= 3, "its child runs")
        family = tree(server.pid)
        if end == "exit":
            server.stdin.close()
        else:
            server.terminate()
        server.wait(5)
        wait_gone(family, within=3)
        server.stdout.close()


def test_the_best_confinement_is_chosen_and_says_why() -> None:
    chosen = choose()
    assert chosen.kind != "none" or sys.platform != "linux" or chosen.reason
    assert chosen.reason in chosen.describe()
    assert choose("none").describe() == "no sandbox: turned off"


def test_a_confinement_that_is_wanted_and_is_not_there_is_an_error() -> None:
    for kind in CONFINED:
        try:
            assert choose(kind).kind == kind
        except SandboxUnavailable as error:
            assert "cannot be used" in str(error)  # noqa: PT017


def test_without_bubblewrap_the_next_best_is_taken_and_the_reason_said(tmp_path: Path) -> None:
    program = "from agent_chat.sandbox.confinement import choose; print(choose().describe())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    assert "bubblewrap is not installed" in done.stdout
    assert done.stdout.startswith("sandbox: Landlock" if version() else "no sandbox: ")
