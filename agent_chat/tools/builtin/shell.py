"""`shell`: a command line, run in the sandbox of the session."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agent_chat.core.approval import Preview
from agent_chat.sandbox.command import Command, Finished, shell_line
from agent_chat.sandbox.confinement import Sandbox
from agent_chat.sandbox.runner import CannotStart, run
from agent_chat.tools.builtin.described import described
from agent_chat.tools.tool import FunctionTool, ToolContext, ToolError, ToolResult, tool
from agent_chat.tools.workspace import Workspace

DEFAULT_TIMEOUT = 120.0
MAX_TIMEOUT = 3600.0
ENDING_SECONDS = 30.0
"""How much longer than its command the call may take: to kill what is left and to read what it wrote."""
NAMED = 5
"""Background processes that are named; of more, the number is told."""


def shell_tool(workspace: Workspace, sandbox: Sandbox, environment: Mapping[str, str]) -> FunctionTool:
    """`shell`, inside a workspace. `environment` is all that commands get; see `tool_environment`."""

    def preview(command: str, timeout: float | None = DEFAULT_TIMEOUT, cwd: str | None = None) -> Preview:
        folder = _folder(workspace, cwd)
        shown = "the workspace" if folder == workspace.root else workspace.show(folder)
        return Preview("command", command, f"in {shown}; {sandbox.describe()}")

    @tool(effect="execute", timeout=MAX_TIMEOUT + ENDING_SECONDS, preview=preview)
    async def shell(
        command: str,
        context: ToolContext,
        timeout: float | None = DEFAULT_TIMEOUT,  # noqa: ASYNC109
        cwd: str | None = None,
    ) -> ToolResult:
        if not command.strip():
            raise ToolError("the command is empty")
        if "\0" in command:
            raise ToolError("a command cannot hold a NUL character")
        seconds = DEFAULT_TIMEOUT if timeout is None else min(timeout, MAX_TIMEOUT)
        if not seconds > 0:
            raise ToolError("the timeout must be more than 0 seconds")
        argv = shell_line(command, environment)
        try:
            finished = await run(
                Command(argv, _folder(workspace, cwd), environment, seconds), sandbox, context.output
            )
        except CannotStart as error:
            raise ToolError(str(error)) from error
        return ToolResult(_told(finished, seconds), ok=finished.exit_code == 0 and not finished.timed_out)

    return described(shell)


def _folder(workspace: Workspace, cwd: str | None) -> Path:
    folder = workspace.resolve(cwd or ".")
    if not folder.is_dir():
        raise ToolError(f"{workspace.show(folder)} is not a folder of the workspace")
    return folder


def _told(finished: Finished, seconds: float) -> str:
    """The output, then what ended it: the end is what is kept when a result is shortened."""
    lines = [finished.output.rstrip("\n") or "(no output)"]
    if finished.elided:
        lines.append(
            f"[{finished.elided:,} of {finished.size:,} bytes were left out above; "
            "write the output to a file to have all of it]"
        )
    if finished.background:
        lines.append(f"[left in the background and ended: {_named(finished.background)}]")
    if finished.restored:
        lines.append(f"[protected; the change was undone: {', '.join(finished.restored)}]")
    if finished.timed_out:
        lines.append(f"stopped: not finished after {seconds:g} s; everything it had started was ended")
    else:
        named = f" ({finished.signal})" if finished.signal else ""
        lines.append(f"exit code: {finished.exit_code}{named}")
    return "\n".join(lines)


def _named(names: tuple[str, ...]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
