"""`shell` as the engine calls it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.sandboxes import EVERY, running
from support.tools import call, context

from agent_chat.core.approval import Preview
from agent_chat.core.observation import ToolResult, excerpt
from agent_chat.engine.runtime import Rules
from agent_chat.sandbox.confinement import Kind, Sandbox, SandboxUnavailable, choose
from agent_chat.sandbox.environment import tool_environment
from agent_chat.sandbox.profile import standard_profile
from agent_chat.tools.builtin.shell import shell_tool
from agent_chat.tools.tool import FunctionTool
from agent_chat.tools.workspace import Workspace

if sys.platform == "win32":
    pytest.skip("needs POSIX", allow_module_level=True)

DOCUMENTED_CAP = 1_600_000
"""Characters of one result, with its notes."""


@pytest.fixture(params=EVERY)
def kind(request: pytest.FixtureRequest) -> Kind:
    try:
        return choose(request.param).kind
    except SandboxUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture
def environ(home: Path) -> dict[str, str]:
    return {**os.environ, "HOME": str(home)}


@pytest.fixture
def sandbox(kind: Kind, workspace: Path, environ: dict[str, str]) -> Iterator[Sandbox]:
    sandbox = Sandbox(standard_profile(workspace, environ), choose(kind))
    yield sandbox
    sandbox.close()


@pytest.fixture
def shell(sandbox: Sandbox, workspace: Path, environ: dict[str, str]) -> FunctionTool:
    return shell_tool(Workspace(workspace), sandbox, tool_environment(environ))


async def test_the_output_then_the_exit_code(shell: FunctionTool) -> None:
    assert await call(shell, command="echo a; echo b >&2") == ToolResult("a\nb\nexit code: 0")
    assert await call(shell, command="exit 3") == ToolResult("(no output)\nexit code: 3", ok=False)
    assert (await call(shell, command="kill -9 $$")).content == "(no output)\nexit code: 137 (SIGKILL)"


async def test_it_runs_in_the_workspace_or_a_folder_of_it(shell: FunctionTool, workspace: Path) -> None:
    (workspace / "sub").mkdir()
    (workspace / "file").touch()
    assert (await call(shell, command="pwd")).content.startswith(f"{workspace}\n")
    assert (await call(shell, command="pwd", cwd="sub")).content.startswith(f"{workspace}/sub\n")
    assert "not a folder" in (await call(shell, command="pwd", cwd="file")).content
    assert "not a folder" in (await call(shell, command="pwd", cwd="missing")).content


@pytest.mark.parametrize("cwd", ["..", "/", "~", "a/../..", "link", "/proc"])
async def test_r45_not_in_a_folder_outside(
    cwd: str, shell: FunctionTool, workspace: Path, tmp_path: Path
) -> None:
    (workspace / "a").mkdir()
    (workspace / "link").symlink_to(tmp_path)
    result = await call(shell, command="touch here", cwd=cwd)
    assert not result.ok
    assert "outside the workspace" in result.content


@pytest.mark.parametrize("command", ["", "  \n", "a\0b"])
async def test_what_is_no_command_is_not_run(command: str, shell: FunctionTool) -> None:
    assert not (await call(shell, command=command)).ok


@pytest.mark.parametrize("seconds", [0, -1])
async def test_a_time_limit_must_leave_some_time(seconds: float, shell: FunctionTool) -> None:
    assert "more than 0" in (await call(shell, command="true", timeout=seconds)).content


async def test_a_command_that_takes_too_long_is_stopped_and_says_so(shell: FunctionTool) -> None:
    result = await call(shell, command="echo begun; sleep 63.5 & sleep 63.5", timeout=0.5)
    assert result == ToolResult(
        "begun\nstopped: not finished after 0.5 s; everything it had started was ended", ok=False
    )
    assert "63.5" not in running()


@pytest.mark.parametrize(
    "command", ["sleep 60.125 & echo started", "(while :; do echo x; sleep 0.2; done) & echo started"]
)
async def test_r22_a_background_child_keeps_stdout_open(command: str, shell: FunctionTool) -> None:
    began = time.monotonic()
    result = await call(shell, command=command)
    assert time.monotonic() - began < 3
    assert result.ok
    assert "started\n" in result.content
    assert result.content.endswith("\nexit code: 0")
    assert "left in the background and ended: " in result.content
    assert "60.125" not in running()
    assert "while :" not in running()


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("read x; echo got:$x", "got:\nexit code: 0"),
        ("cat", "(no output)\nexit code: 0"),
        ("python3 -c 'input()'", "EOFError: EOF when reading a line\nexit code: 1"),
    ],
)
async def test_r23_a_command_that_reads_stdin(command: str, told: str, shell: FunctionTool) -> None:
    began = time.monotonic()
    assert (await call(shell, command=command)).content.endswith(told)
    assert time.monotonic() - began < 2


async def test_r23_a_question_for_a_password_gets_no_terminal(shell: FunctionTool) -> None:
    program = "import getpass, warnings; warnings.simplefilter('error'); getpass.getpass()"
    result = await call(shell, command=f'python3 -c "{program}"', timeout=10)
    assert not result.ok
    assert "exit code: 1" in result.content


async def test_r24_output_that_is_not_utf_8(shell: FunctionTool) -> None:
    result = await call(shell, command=r"printf 'a\377\376\000b'; exit 4")
    assert result == ToolResult("a\ufffd\ufffd\ufffdb\nexit code: 4", ok=False)
    result = await call(shell, command="head -c 300 /dev/urandom")
    assert json.loads(json.dumps(result.content).encode("utf-8")) == result.content
    assert "\0" not in result.content


async def test_r25_huge_output_keeps_head_tail_and_exit_code(shell: FunctionTool) -> None:
    result = await call(shell, command="seq 1 3000000; echo END; exit 3")
    assert len(result.content) < DOCUMENTED_CAP
    assert result.content.startswith("1\n2\n3\n")
    assert result.content.endswith("exit code: 3")
    assert "\n2999999\n3000000\nEND\n" in result.content
    size = sum(len(f"{number}\n") for number in range(1, 3_000_001)) + len("END\n")
    assert f"[{size - 1_500_000:,} of {size:,} bytes were left out above" in result.content


async def test_r25_what_the_model_is_shown_has_head_tail_and_exit_code(shell: FunctionTool) -> None:
    result = await call(shell, command="seq 1 3000000; echo END; exit 3")
    shown = excerpt(result.content, Rules().result_limit).text
    assert shown.startswith("1\n2\n3\n")
    assert "END\n" in shown
    assert "bytes were left out" in shown
    assert shown.endswith("exit code: 3")


MEASURE = """
import asyncio, os, pathlib, resource, sys
from agent_chat.sandbox.confinement import Sandbox, choose
from agent_chat.sandbox.profile import standard_profile
from agent_chat.tools.builtin.shell import shell_tool
from agent_chat.tools.tool import ToolContext
from agent_chat.tools.workspace import Workspace
folder = pathlib.Path(sys.argv[1])
sandbox = Sandbox(standard_profile(folder, os.environ), choose(sys.argv[2]))
tool = shell_tool(Workspace(folder), sandbox, dict(os.environ))
shown = 0
def show(text):
    global shown
    shown += len(text)
async def once(command):
    return await tool.run(tool.validate({"command": command}), ToolContext("c", "s", "k", show))
asyncio.run(once("echo warm"))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
result = asyncio.run(once("yes | head -c 500000000"))
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
sandbox.close()
print(result.content[-200:])
print(grown, len(result.content), shown)
"""


def test_r25_half_a_gigabyte_costs_little_memory(kind: Kind, workspace: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(workspace), kind],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    *told, figures = done.stdout.splitlines()
    grown, length, shown = map(int, figures.split())
    assert told[-1] == "exit code: 0"
    assert "498,500,000 of 500,000,000 bytes" in told[-2]
    assert grown < 50_000, "kilobytes; the limit is 150 MB"
    assert length < DOCUMENTED_CAP
    assert 0 < shown < 20_000_000


async def test_r47_provider_keys_are_not_in_the_environment(
    sandbox: Sandbox, workspace: Path, environ: dict[str, str]
) -> None:
    environ |= {"OPENAI_API_KEY": "sk-TEST456", "HTTPS_PROXY": "http://proxy:1", "LANG": "C.UTF-8"}
    tool = shell_tool(Workspace(workspace), sandbox, tool_environment(environ))
    result = await call(tool, command="env; cat /proc/self/environ /proc/$PPID/environ | tr '\\0' '\\n'")
    assert "sk-TEST456" not in result.content
    for line in (
        f"PATH={environ['PATH']}",
        f"HOME={environ['HOME']}",
        "LANG=C.UTF-8",
        "HTTPS_PROXY=http://proxy:1",
    ):
        assert f"{line}\n" in result.content


async def test_output_is_shown_while_it_runs(shell: FunctionTool, workspace: Path) -> None:
    seen = asyncio.Event()
    arguments = shell.validate({"command": "echo first; until [ -e go ]; do sleep 0.02; done"})

    def show(text: str) -> None:
        if "first" in text:
            seen.set()

    task = asyncio.create_task(shell.run(arguments, context(show)))
    await asyncio.wait_for(seen.wait(), 10)
    (workspace / "go").touch()
    assert (await task).content == "first\nexit code: 0"


async def test_the_preview_shows_command_folder_and_sandbox(
    shell: FunctionTool, kind: Kind, workspace: Path
) -> None:
    (workspace / "sub").mkdir()
    command = "rm -rf build\nmake"
    held = "no sandbox" if kind == "none" else f"sandbox: {kind}, network off"
    assert await shell.preview({"command": command}) == Preview(
        "command", command, f"in the workspace; {held}"
    )
    assert await shell.preview({"command": "ls", "cwd": "sub"}) == Preview("command", "ls", f"in sub; {held}")


def test_the_tool_is_declared_with_its_effect(shell: FunctionTool) -> None:
    assert shell.effect == "execute"
    assert shell.timeout is not None
    assert shell.timeout > 3600
    parameters = shell.spec.parameters["properties"]
    assert list(parameters) == ["command", "timeout", "cwd"]
    assert all(parameter.get("description") for parameter in parameters.values())
