"""What `agent-chat` does: opens a session behind a face, and another one when the user asks for it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from agent_chat.cli.controls import SessionControls
from agent_chat.cli.exit_codes import ExitCode, delivered
from agent_chat.cli.load_settings import Loaded
from agent_chat.cli.options import OutputFormat, SharedOptions
from agent_chat.cli.signals import Signals
from agent_chat.cli.wiring import Ask, Opened, nobody, open_session, preload, settings_for, verbosity
from agent_chat.core.events import LeaveReason
from agent_chat.core.ports import EventSink, InputSource, Leave, UserInput
from agent_chat.ui.commands import Commands, Reaction
from agent_chat.ui.kind import face_kind, wants_color
from agent_chat.ui.shown import Note
from agent_chat.ui.stdout import Output

LEAVE_CODES: dict[LeaveReason, ExitCode] = {
    "interrupted": ExitCode.INTERRUPTED,
    "terminated": ExitCode.TERMINATED,
}


def run_chat(options: SharedOptions) -> int:
    """Sessions until the user leaves. Raises UserError where the first cannot begin."""
    loaded = settings_for(options)
    kind = face_kind(sys.stdin, sys.stdout, os.environ)
    if kind == "terminal" and options.output is OutputFormat.TEXT:
        return asyncio.run(_on_terminal(loaded, options))
    return asyncio.run(_on_lines(loaded, options, is_terminal=kind == "line"))


@dataclass(frozen=True, slots=True)
class Face:
    """How the user is talked to."""

    sinks: tuple[EventSink, ...]
    inputs: InputSource
    note: Callable[[Note], None]
    ask: Ask
    connect: Callable[[Opened], None]
    """Is given every session before its first turn."""

    def warn(self, message: str) -> None:
        self.note(Note("warning", message))


async def _sessions(
    loaded: Loaded, options: SharedOptions, face: Face, controls: SessionControls
) -> LeaveReason:
    """One session after the other, as long as the user asks for another."""
    for warning in loaded.warnings:
        face.warn(warning)
    while True:
        opened = await open_session(loaded, options, face.sinks, face.ask, face.warn)
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
        options = replace(options, resume=controls.wanted, continue_=False)


async def _on_lines(loaded: Loaded, options: SharedOptions, *, is_terminal: bool) -> int:
    """From a pipe, or on a terminal that takes no escape sequences: plain text, quiet end at EOF."""
    from agent_chat.ui.jsonl import JsonLinesSink
    from agent_chat.ui.line import LineSink
    from agent_chat.ui.pipe import PipeInput
    from agent_chat.ui.plain import PlainSink

    controls = SessionControls(loaded)
    is_text = options.output is OutputFormat.TEXT
    stdout = Output(sys.stdout, encoding=None if is_text else "utf-8")
    signals = Signals(leave_on_interrupt=not is_terminal)
    prompt: Callable[[], None] | None = None
    sink: LineSink | PlainSink
    if is_terminal and is_text:
        sink = LineSink(stdout, verbosity=verbosity(options))
        prompt = sink.prompt
    else:
        answers = stdout if is_text else Output(None)
        sink = PlainSink(answers, Output(sys.stderr), verbosity=verbosity(options), conversation=True)
    sinks: tuple[EventSink, ...] = (sink,) if is_text else (JsonLinesSink(stdout), sink)

    def react(reaction: Reaction) -> None:
        for note in reaction.notes:
            sink.note(note)

    inputs = PipeInput(sys.stdin, Commands(controls), note=sink.note, react=react, prompt=prompt)
    face = Face(sinks, _UntilSignal(inputs, signals), sink.note, nobody, lambda opened: None)
    try:
        with signals.handled(controls.interrupt):
            reason = await _sessions(loaded, options, face, controls)
    except asyncio.CancelledError:
        if signals.code is None:
            raise
        return signals.code
    if reason == "end_chat" and (waiting := inputs.unread()):
        lines = "1 line was" if waiting == 1 else f"{waiting} lines were"
        face.warn(f"The model ended the chat; {lines} not sent.")
    code = signals.code or LEAVE_CODES.get(reason, ExitCode.COMPLETED)
    return delivered(code, stdout, lambda problem: sink.note(Note("error", problem)))


@dataclass(frozen=True, slots=True)
class _UntilSignal:
    """An `InputSource` that ends where a signal told the program to."""

    inputs: InputSource
    signals: Signals

    async def next(self) -> UserInput | Leave:
        return Leave("interrupted") if self.signals.code is not None else await self.inputs.next()


async def _on_terminal(loaded: Loaded, options: SharedOptions) -> int:
    """The input line stands first; everything heavy is loaded behind it."""
    from agent_chat.ui.terminal import TerminalFace

    terminal = TerminalFace(
        stdin=sys.stdin,
        stdout=sys.stdout,
        term=os.environ.get("TERM", ""),
        color=wants_color(os.environ, loaded.agent.display.color),
        history=_history_file(),
        verbosity=verbosity(options),
    )
    controls = SessionControls(loaded)
    commands = Commands(controls)
    face = Face(
        (terminal,),
        terminal,
        terminal.note,
        terminal.ask,
        lambda opened: terminal.connect(opened.session, commands),
    )
    async with terminal:
        await asyncio.to_thread(preload)
        reason = await _sessions(loaded, options, face, controls)
    if terminal.signal is not None:
        return 128 + terminal.signal
    return LEAVE_CODES.get(reason, ExitCode.COMPLETED)


def _history_file() -> Path | None:
    """Where typed messages are kept; None where nothing can be."""
    from agent_chat.sessions.folder import NoFolder, create_private, state_folder

    try:
        folder = state_folder()
        create_private(folder)
    except (NoFolder, OSError):
        return None
    return folder / "history"
