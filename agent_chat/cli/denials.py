"""What was not run because nobody could be asked: a one-shot that met it did not do all it was to do."""

from __future__ import annotations

from agent_chat.cli.exit_codes import ExitCode
from agent_chat.core.events import ApprovalResolved, Entry
from agent_chat.core.model import Delta


class Denials:
    """An `EventSink` for where nobody can be asked: there, every approval that is refused lacked a person."""

    def __init__(self) -> None:
        self._denied = False

    async def emit(self, entry: Entry) -> None:
        match entry.event:
            case ApprovalResolved(allowed=False):
                self._denied = True
            case _:
                pass

    def show(self, delta: Delta) -> None:
        pass

    def applied(self, code: ExitCode) -> ExitCode:
        """The code of a run: one that would count as completed needs a person where something was denied."""
        return ExitCode.NEEDS_PERSON if self._denied and code is ExitCode.COMPLETED else code
