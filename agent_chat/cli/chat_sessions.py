"""One session after the other behind a face, as long as the user asks for another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agent_chat.cli.controls import SessionControls
from agent_chat.cli.exit_codes import ExitCode
from agent_chat.cli.load_settings import Loaded
from agent_chat.cli.options import SharedOptions
from agent_chat.cli.wiring import Ask, Opened, open_session, pull_with_bar
from agent_chat.core.events import LeaveReason
from agent_chat.core.permissions import Person
from agent_chat.core.ports import EventSink, InputSource
from agent_chat.ui.shown import Note

if TYPE_CHECKING:
    from agent_chat.cli.pull import Fetch

LEAVE_CODES: dict[LeaveReason, ExitCode] = {
    "interrupted": ExitCode.INTERRUPTED,
    "terminated": ExitCode.TERMINATED,
}


@dataclass(frozen=True, slots=True)
class Face:
    """How the user is talked to."""

    sinks: tuple[EventSink, ...]
    inputs: InputSource
    note: Callable[[Note], None]
    ask: Ask
    connect: Callable[[Opened], None] = lambda opened: None
    """Is given every session before its first turn."""
    person: Callable[[], Person | None] = lambda: None
    """Somebody who approves, anew for every session; None where nobody can be asked."""
    fetch: Fetch = pull_with_bar
    """Gets an embedded model that is missing, and shows how far it is."""
    waits_for_servers: bool = True
    """Whether the first turn waits for MCP servers: where lines come faster than servers start."""

    def warn(self, message: str) -> None:
        self.note(Note("warning", message))


async def run_sessions(
    loaded: Loaded, options: SharedOptions, face: Face, controls: SessionControls
) -> LeaveReason:
    """Returns why the last one ended. Raises UserError where one cannot begin."""
    for warning in loaded.warnings:
        face.warn(warning)
    while True:
        opened = await open_session(
            loaded,
            options,
            face.sinks,
            face.ask,
            face.warn,
            face.person(),
            fetch=face.fetch,
            wait_for_servers=face.waits_for_servers,
        )
        controls.attach(opened)
        if opened.choice.reason:
            face.note(Note("notice", opened.choice.reason))
        warming = asyncio.create_task(opened.warm())
        try:
            face.connect(opened)
            reason = await opened.session.run(face.inputs)
        finally:
            warming.cancel()
            await asyncio.wait([warming])
            await opened.close()
        if controls.wanted is None:
            return reason
        options = replace(options, resume=controls.wanted, continue_=False, record=None)
