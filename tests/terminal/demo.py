"""A session with a scripted model on whatever it is started in: what the terminal tests drive.

Usage: demo.py [crash]
       demo.py single PROMPT
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

from agent_chat.ui.kind import face_kind, wants_color
from agent_chat.ui.terminal import TerminalFace

EXIT_CODES = {"interrupted": 130}
ATTACK = "a \x1b[2J \x1b]0;pwn\x07 b \x1b]52;c;ZXZpbA==\x07 \x1b[1A c"
WIDE = (
    "| 日本語テスト | 👩\u200d🔧 | مرحبا |\n|---|---|---|\n| "
    + "w" * 500
    + " | 界 | b |\n\n"
    + "v" * 500
    + "\n"
)


class DemoModel:
    """Does what the last message says."""

    name = "demo"

    async def stream(self, query: Any) -> AsyncGenerator[Any, None]:
        from agent_chat.core.errors import ModelFailure
        from agent_chat.core.events import AttemptFailed, AttemptStarted, RetryWaiting
        from agent_chat.core.messages import ToolCall, ToolMessage, UserMessage
        from agent_chat.core.model import Reply, TextDelta, Usage

        last = query.messages[-1]
        users = [message for message in query.messages if isinstance(message, UserMessage)]
        order, _, rest = users[-1].text.partition(" ")
        usage = Usage(10, 4, 2)
        yield AttemptStarted(model=self.name, attempt=1)
        if isinstance(last, ToolMessage):
            yield TextDelta(f"the tool said {last.text}")
            yield Reply(f"the tool said {last.text}", model=self.name, usage=usage)
            return
        if order == "call":
            name, _, arguments = rest.partition(" ")
            yield Reply("", (ToolCall("c1", name, arguments or "{}"),), "tool_calls", self.name, usage)
            return
        if order == "fail":
            raise ModelFailure("unavailable", "demo: busy")
        if order == "break":
            yield TextDelta("one\n\ntwo wor")
            await asyncio.sleep(0.2)
            yield AttemptFailed(
                model=self.name, attempt=1, failure="connection", message="connection lost", discarded=True
            )
            yield RetryWaiting(model=self.name, seconds=0, message="connection lost")
            yield AttemptStarted(model=self.name, attempt=2)
        pieces, pause, hang = self._text(order, users[-1].text)
        for piece in pieces:
            yield TextDelta(piece)
            await asyncio.sleep(pause)
        if hang:
            await asyncio.Event().wait()
        yield Reply("".join(pieces), model=self.name, usage=usage)

    def _text(self, order: str, message: str) -> tuple[list[str], float, bool]:
        match order:
            case "long":
                return [f"- line {number:02}\n" for number in range(60)], 0.02, False
            case "parts":
                return ["part "] * 20, 0.0, True
            case "hang":
                return [], 0.0, True
            case "attack":
                return [ATTACK], 0.0, False
            case "markup":
                return ["see [/INST] [bold]x[/bold] [link=http://e]y[/link] [/] [red"], 0.0, False
            case "wide":
                return [WIDE], 0.0, False
            case "stream":
                return (
                    ["word **bold** and `code` in a line\n" if n % 6 == 5 else "word " for n in range(4000)],
                    0.001,
                    False,
                )
            case "break":
                return ["whole."], 0.0, False
            case _:
                return [f"heard {message!r}"], 0.0, False

    async def warm(self, query: Any) -> None: ...

    async def close(self) -> None: ...


def build(sink: Any, ask: Any) -> Any:
    """A session with its tools."""
    from support.engine import FakeTool
    from support.faces import session

    from agent_chat.core.observation import ToolResult
    from agent_chat.ui.shown import Note

    async def nap(arguments: Mapping[str, Any]) -> str:
        await asyncio.sleep(float(arguments["seconds"]))
        return "rested"

    async def ask_user(arguments: Mapping[str, Any]) -> ToolResult:
        await asyncio.sleep(float(arguments.get("after", 0)))
        answer = await ask(str(arguments["question"]))
        return ToolResult(answer or "no answer", ok=answer is not None)

    async def notify(arguments: Mapping[str, Any]) -> str:
        asyncio.get_running_loop().call_later(1.0, sink.note, Note("warning", "a server failed"))
        return "soon"

    def bug(arguments: Mapping[str, Any]) -> str:
        asyncio.get_running_loop().call_soon(lambda: 1 // 0)
        return "done"

    def read_file(arguments: Mapping[str, Any]) -> str:
        return ATTACK

    return session(
        DemoModel(),
        sink,
        FakeTool("nap", nap, timeout=None),
        FakeTool("ask_user", ask_user, timeout=None),
        FakeTool("notify", notify),
        FakeTool("bug", bug),
        FakeTool("read_file", read_file),
    )


async def on_terminal() -> int:
    face = TerminalFace(
        stdin=sys.stdin,
        stdout=sys.stdout,
        term=os.environ.get("TERM", ""),
        color=wants_color(os.environ),
        history=Path(os.environ["HOME"]) / "history",
    )
    async with face:
        from support.engine import INFO
        from support.faces import FakeControls

        from agent_chat.ui.commands import Commands
        from agent_chat.ui.shown import Note

        controls = FakeControls()
        chat = build(face, face.ask)
        face.connect(chat, Commands(controls))
        await chat.start(INFO)
        if "crash" in sys.argv:
            raise RuntimeError("an internal error")
        reason = await chat.run(face)
        if again := controls.resumed:
            other = build(face, face.ask)
            face.connect(other, Commands(controls))
            face.note(Note("notice", f"session {again}"))
            reason = await other.run(face)
    return 128 + face.signal if face.signal else EXIT_CODES.get(reason, 0)


async def on_lines() -> int:
    from support.engine import INFO
    from support.faces import FakeControls

    from agent_chat.ui.commands import Commands
    from agent_chat.ui.leaving import InterruptKey
    from agent_chat.ui.line import LineSink
    from agent_chat.ui.pipe import PipeInput
    from agent_chat.ui.shown import Note
    from agent_chat.ui.stdout import Output

    sink = LineSink(Output(sys.stdout))

    inputs = PipeInput(
        sys.stdin, Commands(FakeControls()), note=sink.note, react=sink.react, prompt=sink.prompt
    )
    key = InterruptKey()

    async def ask(question: str) -> str | None:
        sink.note(Note("question", question))
        return await inputs.answer()

    chat = build(sink, ask)

    def interrupted() -> None:
        if key.press(typed=False, running=chat.interrupt()) == "leave":
            inputs.leave("interrupted")
        else:
            sink.note(Note("notice", "Ctrl-C again leaves."))

    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted)
    await chat.start(INFO)
    return EXIT_CODES.get(await chat.run(inputs), 0)


async def single(prompt: str) -> int:
    import shutil

    from support.engine import INFO

    from agent_chat.ui.live import LiveSink
    from agent_chat.ui.paint import Paint
    from agent_chat.ui.stdout import Output

    size = shutil.get_terminal_size()
    paint = Paint(wants_color(os.environ), unicode=True)
    sink = LiveSink(Output(sys.stdout), Output(sys.stderr), paint, width=size.columns, rows=size.lines)
    chat = build(sink, None)
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, chat.interrupt)
    await chat.start(INFO)
    outcome = await chat.turn(prompt)
    sink.close()
    return 0 if outcome.kind == "completed" else 130 if outcome.reason == "interrupted" else 1


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    if sys.argv[1:2] == ["single"]:
        main = single(sys.argv[2])
    elif face_kind(sys.stdin, sys.stdout, os.environ) == "terminal":
        main = on_terminal()
    else:
        main = on_lines()
    sys.exit(asyncio.run(main))
