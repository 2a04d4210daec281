"""Starting: what is imported, and that nothing is connected to but the model's server."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.fixtures import Command, OpenTerminal, ProviderFactory
from support.process import clean_env, run
from support.provider import OK

PROGRAMS = Path(__file__).parent / "programs"
HEAVY = ("litellm", "openai", "rich.live", "xllamacpp", "httpx", "anyio", "prompt_toolkit.shortcuts.dialogs")


def imported(stderr: str) -> set[str]:
    """The modules of `-X importtime`."""
    return set(re.findall(r"^import time:[^|]*\|[^|]*\|\s*(\S+)$", stderr, re.MULTILINE))


@pytest.mark.parametrize("command", ["agent-chat", "agent-single"])
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_r55_help_and_version_are_instant(single: Command, home: Path, command: str, option: str) -> None:
    env = clean_env(home, PYTHONPROFILEIMPORTTIME="1")
    result = run([command, option], env=env)
    assert result.code == 0
    assert result.stdout
    modules = imported(result.err)
    assert "agent_chat" in modules
    assert not [name for name in HEAVY if name in modules]


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_r55_in_under_a_second(home: Path, option: str) -> None:
    """Of processor time: how long it takes to get it is the machine's affair."""
    before = os.times()
    result = run(["agent-chat", option], env=clean_env(home))
    after = os.times()
    assert result.code == 0
    assert after.children_user + after.children_system - before.children_user - before.children_system < 1


def test_r55_an_answer_needs_no_model_library(single: Command, provider: ProviderFactory) -> None:
    result = single("hi", provider=provider(OK), PYTHONPROFILEIMPORTTIME="1")
    assert (result.stdout, result.code) == (b"ok\n", 0)
    modules = imported(result.err)
    assert "agent_chat.models.direct_model" in modules
    assert not [name for name in ("litellm", "openai", "rich.live", "prompt_toolkit") if name in modules]


def test_r55_the_prompt_comes_without_them(terminal: OpenTerminal, provider: ProviderFactory) -> None:
    window = terminal("agent-chat", provider=provider(), PYTHONPROFILEIMPORTTIME="1", rows=50)
    window.wait_for("> ")
    modules = imported(window.raw.decode("utf-8", "replace").replace("\r\n", "\n"))
    assert "prompt_toolkit" in modules
    assert not [name for name in ("litellm", "openai", "rich.live") if name in modules]
    window.send_key("ctrl-d")
    assert window.wait_exit() == 0


def without_a_network() -> bool:
    """Whether a network namespace of our own can be had, in which nothing is but the loopback device."""
    if sys.platform != "linux" or shutil.which("unshare") is None or shutil.which("ip") is None:
        return False
    return subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not without_a_network(), reason="needs a network namespace")
@pytest.mark.parametrize(
    ("command", "stdout", "code"),
    [
        (["agent-chat", "--help"], b"Usage:", 0),
        (["agent-single", "-C", "modle=x", "hi"], b"", 2),
        (["agent-chat"], b"ok\n", 0),
        (["agent-chat", "-C", "transport=litellm"], b"ok\n", 0),
    ],
)
def test_r55_without_a_network_nothing_is_connected_to_but_the_model(
    home: Path, workspace: Path, command: list[str], stdout: bytes, code: int
) -> None:
    log = workspace / "connections.log"
    env = clean_env(home, PYTHONPATH=str(PROGRAMS / "audit"), CONNECTIONS_LOG=str(log))
    program = ["unshare", "-n", sys.executable, str(PROGRAMS / "own_network.py"), *command]
    result = run(program, env=env, stdin=b"hi\n", cwd=workspace)
    assert result.code == code, result.err
    assert stdout in result.stdout
    assert (result.stderr == b"") == (code == 0)
    addresses = log.read_text().split()
    assert set(addresses) <= {"127.0.0.1"}
    assert bool(addresses) == (stdout == b"ok\n")
