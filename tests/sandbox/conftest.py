"""Sandboxes of every kind that this machine has, with a home full of secrets beside the workspace."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.sandboxes import CONFINED, EVERY, SECRET, OpenSandbox, Run, line_runner

from agent_chat.sandbox.confinement import Kind, Sandbox, SandboxUnavailable, choose
from agent_chat.sandbox.environment import tool_environment
from agent_chat.sandbox.profile import standard_profile

if sys.platform == "win32":
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def environ(home: Path) -> dict[str, str]:
    """What the user's environment is, for the sandbox: a home of the test's."""
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_ed25519").write_text(SECRET)
    (home / ".local" / "share" / "agent-chat").mkdir(parents=True)
    (home / ".local" / "share" / "agent-chat" / "sessions.db").write_text(SECRET)
    return {**os.environ, "HOME": str(home)}


@pytest.fixture
def open_sandbox(workspace: Path, home: Path, environ: dict[str, str]) -> Iterator[OpenSandbox]:
    """`open_sandbox("landlock", network=True)`; skips the test where there is no such confinement."""
    opened: list[Sandbox] = []

    def open_(kind: Kind, *, network: bool = False, home_is_workspace: bool = False) -> Sandbox:
        try:
            confinement = choose(kind)
        except SandboxUnavailable as error:
            pytest.skip(str(error))
        root = home if home_is_workspace else workspace
        opened.append(Sandbox(standard_profile(root, environ, network=network), confinement))
        return opened[-1]

    yield open_
    for sandbox in opened:
        sandbox.close()


@pytest.fixture
def env(environ: dict[str, str]) -> dict[str, str]:
    return tool_environment(environ)


@pytest.fixture(params=CONFINED)
def confined(request: pytest.FixtureRequest, open_sandbox: OpenSandbox) -> Sandbox:
    """A sandbox of each kind that confines."""
    return open_sandbox(request.param)


@pytest.fixture(params=EVERY)
def sandbox(request: pytest.FixtureRequest, open_sandbox: OpenSandbox) -> Sandbox:
    """Every way to run a command, also without confinement."""
    return open_sandbox(request.param)


@pytest.fixture
def sh(confined: Sandbox, workspace: Path, env: dict[str, str]) -> Run:
    """`await sh("ls")`: a shell line in a sandbox that confines."""
    return line_runner(confined, workspace, env)
