"""How the last turn of a session ended: what a script that fed it wants to know."""

from __future__ import annotations

from agent_chat.cli.exit_codes import ExitCode, exit_code
from agent_chat.core.events import Entry, TurnEnded
from agent_chat.core.model import Delta


class LastTurn:
    """An `EventSink`."""

    def __init__(self) -> None:
        self.code = ExitCode.COMPLETED

    async def emit(self, entry: Entry) -> None:
        match entry.event:
            case TurnEnded(reason=reason):
                self.code = exit_code(reason)
            case _:
                pass

    def show(self, delta: Delta) -> None:
        pass
