"""Commands run to their end: bounded, streamed, ended with all that they started."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.process import tree, wait_gone, wait_until
from support.sandboxes import EVERY, OpenSandbox, line_runner, running

from agent_chat.sandbox.command import Command, Finished, shell_line
from agent_chat.sandbox.confinement import Kind, Sandbox
from agent_chat.sandbox.runner import CannotStart, run


@pytest.fixture
def command(workspace: Path, env: dict[str, str]) -> type[_Commands]:
    _Commands.folder, _Commands.env = workspace.resolve(), env
    return _Commands


class _Commands:
    """`command.line("ls")`: a shell line in the workspace."""

    folder: Path
    env: dict[str, str]

    @classmethod
    def line(cls, line: str, timeout: float | None = 30) -> Command:
        return Command(shell_line(line, cls.env), cls.folder, cls.env, timeout)


async def finished(sandbox: Sandbox, command: Command) -> Finished:
    return await asyncio.wait_for(run(command, sandbox), 60)


async def test_output_of_both_streams_in_order_and_the_exit_code(
    sandbox: Sandbox, command: type[_Commands]
) -> None:
    done = await finished(sandbox, command.line("echo a; echo b >&2; echo c; exit 7"))
    assert (done.output, done.exit_code, done.signal) == ("a\nb\nc\n", 7, None)
    assert (done.size, done.elided, done.timed_out, done.background) == (6, 0, False, ())


async def test_an_end_by_signal_is_named(sandbox: Sandbox, command: type[_Commands]) -> None:
    done = await finished(sandbox, command.line("kill -SEGV $$"))
    assert (done.exit_code, done.signal) == (139, "SIGSEGV")


async def test_a_pipe_that_is_closed_ends_its_writer(sandbox: Sandbox, command: type[_Commands]) -> None:
    done = await finished(sandbox, command.line("yes | head -1; echo ${PIPESTATUS[0]}"))
    assert done.output == "y\n141\n"


async def test_there_is_no_terminal_to_ask_at(sandbox: Sandbox, command: type[_Commands]) -> None:
    done = await finished(
        sandbox, command.line("(exec </dev/tty) 2>/dev/null || echo none; ps -o tty= -p $$")
    )
    assert done.output.split() == ["none", "?"]


async def test_output_is_shown_while_the_command_runs(
    sandbox: Sandbox, command: type[_Commands], workspace: Path
) -> None:
    seen = asyncio.Event()
    go = workspace / "go"

    def show(text: str) -> None:
        if "first" in text:
            seen.set()

    line = "echo first; while [ ! -e go ]; do sleep 0.02; done; echo second"
    task = asyncio.create_task(run(command.line(line), sandbox, show))
    await asyncio.wait_for(seen.wait(), 10)
    assert not task.done()
    go.touch()
    assert (await asyncio.wait_for(task, 10)).output == "first\nsecond\n"


async def test_a_time_limit_ends_all_at_once_and_keeps_what_was_said(
    sandbox: Sandbox, command: type[_Commands]
) -> None:
    mark = f"5{os.getpid() % 100_000:05}.1"
    line = f"trap '' TERM; setsid sleep {mark} & echo begun; sleep {mark}"
    began = time.monotonic()
    done = await finished(sandbox, command.line(line, timeout=1))
    assert done.timed_out
    assert done.output == "begun\n"
    assert time.monotonic() - began < 5
    assert mark not in running()


async def test_a_cancellation_goes_on_when_all_is_dead(sandbox: Sandbox, command: type[_Commands]) -> None:
    mark = f"5{os.getpid() % 100_000:05}.2"
    begun = asyncio.Event()
    line = f"trap '' TERM; setsid sleep {mark} & echo begun; sleep {mark}"
    task = asyncio.create_task(run(command.line(line), sandbox, lambda _: begun.set()))
    await asyncio.wait_for(begun.wait(), 10)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 3
    assert mark not in running()


async def test_a_second_cancellation_does_not_cut_the_first_short(
    sandbox: Sandbox, command: type[_Commands]
) -> None:
    mark = f"5{os.getpid() % 100_000:05}.3"
    begun = asyncio.Event()
    task = asyncio.create_task(run(command.line(f"echo begun; sleep {mark}"), sandbox, lambda _: begun.set()))
    await asyncio.wait_for(begun.wait(), 10)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert mark not in running()


async def test_nothing_is_left_open(sandbox: Sandbox, command: type[_Commands]) -> None:
    await finished(sandbox, command.line("true"))
    before = len(os.listdir("/proc/self/fd"))
    for line in ("true", "sleep 60 & exit 3", "nonsense-command"):
        await finished(sandbox, command.line(line))
    await finished(sandbox, command.line("sleep 60", timeout=0.2))
    with pytest.raises(CannotStart):
        await run(Command(("true",), Path("/nonexistent"), {}), sandbox)
    assert len(os.listdir("/proc/self/fd")) == before


async def test_a_folder_that_is_not_there_is_said(sandbox: Sandbox, env: dict[str, str]) -> None:
    with pytest.raises(CannotStart, match="No such file or directory"):
        await run(Command(("true",), Path("/nonexistent"), env), sandbox)


async def test_a_program_that_is_not_there_is_said(sandbox: Sandbox, command: type[_Commands]) -> None:
    done = await finished(sandbox, Command(("no-such-program",), command.folder, command.env))
    assert done.exit_code == 127
    assert "no-such-program" in done.output


async def test_commands_run_beside_each_other(sandbox: Sandbox, command: type[_Commands]) -> None:
    lines = [command.line(f"echo {number}; sleep 0.2; echo {number}") for number in range(5)]
    results = await asyncio.gather(*(finished(sandbox, line) for line in lines))
    assert [done.output for done in results] == [f"{number}\n{number}\n" for number in range(5)]


@pytest.mark.parametrize("kind", EVERY)
def test_nothing_outlives_us_when_we_are_killed(
    kind: Kind, open_sandbox: OpenSandbox, workspace: Path, tmp_path: Path
) -> None:
    open_sandbox(kind)  # Skips where there is none.
    program = tmp_path / "ours.py"
    program.write_text(
        "import asyncio, os, pathlib\n"
        "from agent_chat.sandbox.command import Command\n"
        "from agent_chat.sandbox.confinement import Sandbox, choose\n"
        "from agent_chat.sandbox.profile import standard_profile\n"
        "from agent_chat.sandbox.runner import run\n"
        f"folder = pathlib.Path({str(workspace)!r}).resolve()\n"
        f"sandbox = Sandbox(standard_profile(folder, os.environ), choose({kind!r}))\n"
        "line = 'setsid sleep 61.5 & (sleep 61.5 &); echo begun; sleep 61.5'\n"
        "command = Command(('bash', '-c', line), folder, dict(os.environ))\n"
        "asyncio.run(run(command, sandbox, lambda text: print(text, end='', flush=True)))\n"
    )
    env = {**os.environ, "TMPDIR": str(tmp_path)}  # What is killed cannot remove its temporary folder.
    ours = subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, env=env)
    assert ours.stdout is not None
    with ours, ours.stdout:
        assert ours.stdout.readline() == b"begun\n"
        children = tree(ours.pid)
        assert len(children) >= 3
        ours.send_signal(signal.SIGKILL)
        ours.wait(10)
        wait_gone(children, within=3)


async def test_a_thousand_lines_a_second_do_not_hold_up_the_loop(
    sandbox: Sandbox, command: type[_Commands]
) -> None:
    task = asyncio.create_task(run(command.line("yes | head -c 100000000"), sandbox, lambda _: None))
    longest = 0.0
    while not task.done():
        began = time.monotonic()
        await asyncio.sleep(0.001)
        longest = max(longest, time.monotonic() - began)
    assert (await task).size == 100_000_000
    assert longest < 0.5


async def test_a_limit_holds(open_sandbox: OpenSandbox, workspace: Path, env: dict[str, str]) -> None:
    for kind in EVERY:
        done = await line_runner(open_sandbox(kind), workspace, env)("ulimit -c; ulimit -Hc; ulimit -f")
        assert done.output.split() == ["0", "0", str(16 * 1024**2)]


def test_the_temporary_folder_goes_with_the_sandbox(open_sandbox: OpenSandbox) -> None:
    sandbox = open_sandbox("landlock")
    temporary = sandbox.profile.temporary
    assert temporary is not None
    assert temporary.stat().st_mode & 0o777 == 0o700
    sandbox.close()
    sandbox.close()
    wait_until(lambda: not temporary.exists(), "it is gone")
