"""Which face `agent-chat` shows. On a terminal its input line stands before anything else is loaded."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from agent_chat.cli.options import OutputFormat, SharedOptions
from agent_chat.ui.kind import face_kind


def run_chat(options: SharedOptions) -> int:
    """Sessions until the user leaves. Raises UserError where the first cannot begin."""
    if options.replay is not None:
        from agent_chat.cli.chat_lines import show_recorded

        return asyncio.run(show_recorded(Path(options.replay), options))
    kind = face_kind(sys.stdin, sys.stdout, os.environ)
    if kind == "terminal" and options.output is OutputFormat.TEXT:
        from agent_chat.cli.chat_terminal import on_terminal

        return asyncio.run(on_terminal(options))
    from agent_chat.cli.chat_lines import on_lines

    return asyncio.run(on_lines(options, is_terminal=kind == "line"))
