"""`agent-chat` from a pipe, or on a terminal that takes no escape sequences: plain text, quiet end at EOF."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

from agent_chat.cli.chat_sessions import LEAVE_CODES, Face, run_sessions
from agent_chat.cli.controls import SessionControls
from agent_chat.cli.exit_codes import ExitCode, delivered
from agent_chat.cli.last_turn import LastTurn
from agent_chat.cli.options import OutputFormat, SharedOptions
from agent_chat.cli.signals import Signals
from agent_chat.cli.wiring import nobody, settings_for, verbosity
from agent_chat.cli.written_commands import load_commands
from agent_chat.core.ports import Compact, EventSink, InputSource, Leave, UserInput
from agent_chat.ui.approvals import ApprovalDialog
from agent_chat.ui.commands import Commands
from agent_chat.ui.jsonl import JsonLinesSink
from agent_chat.ui.line import LineDesk, LineSink
from agent_chat.ui.pipe import PipeInput
from agent_chat.ui.plain import PlainSink
from agent_chat.ui.sanitize import visible
from agent_chat.ui.shown import Note
from agent_chat.ui.stdout import Output


async def on_lines(options: SharedOptions, *, is_terminal: bool) -> int:
    """Returns the exit code. Raises UserError where no session can begin."""
    loaded = settings_for(options)
    controls = SessionControls(loaded)
    is_text = options.output is OutputFormat.TEXT
    stdout = Output(sys.stdout, encoding=None if is_text else "utf-8")
    signals = Signals(leave_on_interrupt=not is_terminal)
    sink = _line_sink(stdout, options) if is_terminal and is_text else _plain_sink(stdout, options)
    written = load_commands(options, loaded, lambda problem: sink.note(Note("warning", visible(problem))))
    inputs = PipeInput(
        sys.stdin,
        Commands(controls, written),
        note=sink.note,
        react=sink.react,
        prompt=sink.prompt if isinstance(sink, LineSink) else None,
    )

    async def ask(question: str) -> str | None:
        sink.note(Note("question", question))
        return await inputs.answer()

    last = LastTurn()
    faces: tuple[EventSink, ...] = (sink,) if is_text else (JsonLinesSink(stdout), sink)
    sinks = (*faces, last)
    face = Face(
        sinks,
        _UntilSignal(inputs, signals),
        sink.note,
        ask if is_terminal else nobody,
        person=lambda: ApprovalDialog(LineDesk(sink, inputs)) if isinstance(sink, LineSink) else None,
        waits_for_servers=not is_terminal,
    )
    try:
        with signals.handled(controls.interrupt):
            reason = await run_sessions(loaded, options, face, controls)
    except asyncio.CancelledError:
        if signals.code is None:
            raise
        return signals.code
    if reason == "end_chat" and (waiting := inputs.unread()):
        lines = "1 line was" if waiting == 1 else f"{waiting} lines were"
        face.warn(f"The model ended the chat; {lines} not sent.")
    # A person has seen how the last turn ended; a script learns it here.
    ended = ExitCode.COMPLETED if is_terminal else last.code
    code = signals.code or LEAVE_CODES.get(reason, ended)
    return delivered(code, stdout, lambda problem: sink.note(Note("error", problem)))


async def show_recorded(recorded: Path, options: SharedOptions) -> int:
    """A recorded conversation, told as it was told to a pipe. Returns the exit code; raises UserError."""
    from agent_chat.cli.replay_shown import Different, show_again

    is_text = options.output is OutputFormat.TEXT
    stdout = Output(sys.stdout, encoding=None if is_text else "utf-8")
    sink = _plain_sink(stdout, options)
    faces: tuple[EventSink, ...] = (sink,) if is_text else (JsonLinesSink(stdout), sink)
    try:
        code = await show_again(recorded, options, faces, "")
    except Different as error:
        sink.note(Note("error", visible(error.message)))
        return ExitCode.FAILED
    return delivered(code, stdout, lambda problem: sink.note(Note("error", problem)))


def _line_sink(stdout: Output, options: SharedOptions) -> LineSink:
    return LineSink(stdout, verbosity=verbosity(options))


def _plain_sink(stdout: Output, options: SharedOptions) -> PlainSink:
    answers = stdout if options.output is OutputFormat.TEXT else Output(None)
    return PlainSink(answers, Output(sys.stderr), verbosity=verbosity(options), conversation=True)


@dataclass(frozen=True, slots=True)
class _UntilSignal:
    """An `InputSource` that ends where a signal told the program to."""

    inputs: InputSource
    signals: Signals

    async def next(self) -> UserInput | Compact | Leave:
        return Leave("interrupted") if self.signals.code is not None else await self.inputs.next()
