"""`agent-chat` on a terminal: the input line stands first, everything heavy is loaded behind it."""

from __future__ import annotations

import asyncio
import os
import sys
from importlib import import_module
from pathlib import Path

from agent_chat.cli.options import SharedOptions
from agent_chat.ui.kind import wants_color
from agent_chat.ui.terminal import TerminalFace

BEHIND = (
    "cli.chat_sessions",
    "models.build",
    "models.direct_model",
    "tools.builtin.edit",
    "tools.builtin.files",
    "tools.builtin.search",
    "tools.builtin.shell",
    "tools.builtin.web",
)
"""What opening a session imports."""


async def on_terminal(options: SharedOptions) -> int:
    """Returns the exit code. Raises UserError, with the terminal restored, where no session can begin."""
    terminal = TerminalFace(
        stdin=sys.stdin,
        stdout=sys.stdout,
        term=os.environ.get("TERM", ""),
        color=wants_color(os.environ),
        history=_history_file(),
    )
    async with terminal:
        # In a thread: an import in the event loop would delay every key that is typed meanwhile.
        await asyncio.to_thread(_load)
        from agent_chat.cli.chat_sessions import LEAVE_CODES, Face, run_sessions
        from agent_chat.cli.controls import SessionControls
        from agent_chat.cli.pull import pull_in_lines
        from agent_chat.cli.wiring import settings_for, verbosity
        from agent_chat.cli.written_commands import load_commands
        from agent_chat.ui.approvals import ApprovalDialog
        from agent_chat.ui.commands import Commands
        from agent_chat.ui.sanitize import visible
        from agent_chat.ui.shown import Note

        loaded = settings_for(options)
        color = wants_color(os.environ, loaded.agent.display.color)
        terminal.configure(color=color, verbosity=verbosity(options))
        controls = SessionControls(loaded)
        written = load_commands(
            options, loaded, lambda problem: terminal.note(Note("warning", visible(problem)))
        )
        commands = Commands(controls, written)
        face = Face(
            sinks=(terminal,),
            inputs=terminal,
            note=terminal.note,
            ask=terminal.ask,
            connect=lambda opened: terminal.connect(opened.session, commands),
            person=lambda: ApprovalDialog(terminal),
            fetch=lambda entry: pull_in_lines(entry, lambda line: terminal.note(Note("notice", line))),
            waits_for_servers=False,
        )
        reason = await run_sessions(loaded, options, face, controls)
    if terminal.signal is not None:
        return 128 + terminal.signal
    return LEAVE_CODES.get(reason, 0)


def _load() -> None:
    for name in BEHIND:
        import_module(f"agent_chat.{name}")


def _history_file() -> Path | None:
    """Where typed messages are kept; None where nothing can be."""
    from agent_chat.sessions.folder import NoFolder, create_private, state_folder

    try:
        folder = state_folder()
        create_private(folder)
    except (NoFolder, OSError):
        return None
    return folder / "history"
