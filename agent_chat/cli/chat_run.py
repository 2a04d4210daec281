"""What `agent-chat` does: opens a session behind a face, and another one when the user asks for it."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace

from agent_chat.cli.controls import SessionControls
from agent_chat.cli.exit_codes import ExitCode
from agent_chat.cli.options import OutputFormat, SharedOptions
from agent_chat.cli.signals import Signals
from agent_chat.cli.single_run import verbosity
from agent_chat.cli.wiring import nobody, open_session, settings_for
from agent_chat.core.events import LeaveReason
from agent_chat.core.ports import EventSink
from agent_chat.ui.commands import Commands, Reaction
from agent_chat.ui.jsonl import JsonLinesSink
from agent_chat.ui.pipe import PipeInput
from agent_chat.ui.plain import PlainSink
from agent_chat.ui.shown import Note
from agent_chat.ui.stdout import Output

LEAVE_CODES: dict[LeaveReason, ExitCode] = {
    "interrupted": ExitCode.INTERRUPTED,
    "terminated": ExitCode.TERMINATED,
}


def run_chat(options: SharedOptions) -> int:
    """Sessions until the user leaves. Raises UserError where the first cannot begin."""
    return asyncio.run(_PipedChat(options).run())


class _PipedChat:
    """A conversation without a terminal: plain text out, quiet end at the end of the input."""

    def __init__(self, options: SharedOptions) -> None:
        self._options = options
        is_text = options.output is OutputFormat.TEXT
        self._stdout = Output(sys.stdout, encoding=None if is_text else "utf-8")
        self._notices = PlainSink(
            self._stdout if is_text else Output(None),
            Output(sys.stderr),
            verbosity=verbosity(options),
            conversation=True,
        )
        lines = () if is_text else (JsonLinesSink(self._stdout),)
        self._faces: tuple[EventSink, ...] = (*lines, self._notices)

    async def run(self) -> int:
        loaded = settings_for(self._options)
        for warning in loaded.warnings:
            self._problem(warning)
        controls = SessionControls(loaded)
        inputs = PipeInput(sys.stdin, Commands(controls), note=self._notices.note, react=self._react)
        signals = Signals()
        options = self._options
        while True:
            opened = await open_session(loaded, options, self._faces, nobody, self._problem)
            controls.attach(opened)
            if opened.choice.reason:
                self._notices.note(Note("notice", opened.choice.reason))
            try:
                with signals.handled(opened.session.interrupt):
                    reason = await opened.session.run(inputs)
            finally:
                await opened.close()
            if controls.wanted is None:
                break
            options = replace(options, resume=controls.wanted, continue_=False)
        if reason == "end_chat" and (waiting := inputs.unread()):
            lines = "1 line was" if waiting == 1 else f"{waiting} lines were"
            self._problem(f"The chat was ended by the model; {lines} not sent.")
        if self._stdout.gone:
            return ExitCode.BROKEN_PIPE
        return signals.code or LEAVE_CODES.get(reason, ExitCode.COMPLETED)

    def _react(self, reaction: Reaction) -> None:
        for note in reaction.notes:
            self._notices.note(note)

    def _problem(self, message: str) -> None:
        self._notices.note(Note("warning", message))
