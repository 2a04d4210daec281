"""With the network allowed, and what stays closed even then."""

from __future__ import annotations

import shlex
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.sandboxes import CONFINED, OpenSandbox, Run, line_runner

from agent_chat.sandbox.confinement import Kind


@pytest.fixture(params=CONFINED)
def sh(
    request: pytest.FixtureRequest, open_sandbox: OpenSandbox, workspace: Path, env: dict[str, str]
) -> Run:
    """A shell line in a sandbox with the network on."""
    kind: Kind = request.param
    return line_runner(open_sandbox(kind, network=True), workspace, env)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def connect(family: str, address: object) -> str:
    code = (
        f"import _socket as s; s.socket(s.{family}, s.SOCK_STREAM).connect({address!r}); print('connected')"
    )
    return f"{shlex.quote(sys.executable)} -I -S -c {shlex.quote(code)}"


async def test_what_listens_on_this_machine_is_reached(sh: Run, listener: socket.socket) -> None:
    done = await sh(connect("AF_INET", listener.getsockname()))
    assert done.output == "connected\n"


async def test_sockets_of_daemons_are_not(sh: Run, tmp_path: Path) -> None:
    path = str(tmp_path / "docker.sock")
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(path)
        daemon.listen()
        assert "connected" not in (await sh(connect("AF_UNIX", path))).output


async def test_names_can_be_looked_up(sh: Run) -> None:
    done = await sh("getent hosts localhost; cat /etc/resolv.conf >/dev/null && echo readable")
    assert "localhost" in done.output
    assert done.output.endswith("readable\n")


@pytest.mark.parametrize("kind", ["bubblewrap"])
async def test_with_the_network_off_a_command_can_still_talk_to_itself(
    kind: Kind, open_sandbox: OpenSandbox, workspace: Path, env: dict[str, str]
) -> None:
    code = (
        "import _socket as s\n"
        "a = s.socket(s.AF_INET, s.SOCK_STREAM); a.bind(('127.0.0.1', 0)); a.listen()\n"
        "s.socket(s.AF_INET, s.SOCK_STREAM).connect(a.getsockname()); print('connected')"
    )
    run = line_runner(open_sandbox(kind), workspace, env)
    done = await run(f"{shlex.quote(sys.executable)} -I -S -c {shlex.quote(code)}")
    assert done.output == "connected\n"
