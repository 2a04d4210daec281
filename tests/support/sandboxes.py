"""What the tests of the sandbox share; the fixtures are in tests/sandbox/conftest.py."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

from agent_chat.sandbox.command import Command, Finished, shell_line
from agent_chat.sandbox.confinement import Kind, Sandbox
from agent_chat.sandbox.runner import run

CONFINED: tuple[Kind, ...] = ("bubblewrap", "landlock")
EVERY: tuple[Kind, ...] = (*CONFINED, "none")
SECRET = "planted-secret-4711"

Run = Callable[[str], Awaitable[Finished]]


class OpenSandbox(Protocol):
    def __call__(self, kind: Kind, *, network: bool = False, home_is_workspace: bool = False) -> Sandbox: ...


def line_runner(sandbox: Sandbox, workspace: Path, env: dict[str, str]) -> Run:
    """`await run("ls")` runs a shell line in the workspace."""
    folder = workspace.resolve()

    async def execute(line: str) -> Finished:
        return await run(Command(shell_line(line, env), folder, env, 30), sandbox)

    return execute


def running() -> str:
    """The command lines of all processes, one a line."""
    lines: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                lines.append((entry / "cmdline").read_text("utf-8", "replace").replace("\0", " "))
            except OSError:
                continue
    return "\n".join(lines)
