"""A session's input from a pipe, a file or a terminal without line editing: one line is one turn."""

from __future__ import annotations

import asyncio
import codecs
import os
import select
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from agent_chat.core.events import LeaveReason
from agent_chat.core.ports import Compact, Leave, UserInput
from agent_chat.ui.shown import Note

if TYPE_CHECKING:
    from agent_chat.ui.commands import Commands, Reaction

FENCE = '"""'
CHUNK = 65_536
NOT_UTF8 = "The input is not UTF-8: it is read as Windows-1252."
NOT_CLOSED = f"The last {FENCE} was not closed: the message ends with the input."


@dataclass(frozen=True, slots=True)
class Message:
    text: str
    block: bool
    """Whether it stood between fences, where nothing is a command."""


class Messages:
    """Cuts bytes into messages: a line each, or several lines between fences. Blank ones are none."""

    def __init__(self, note: Callable[[Note], None]) -> None:
        self._note = note
        self._rest: list[bytes] = []
        """The pieces of a line whose end has not come yet."""
        self._block: list[str] | None = None
        self._told = False
        self._first = True
        self.ready: deque[Message] = deque()

    def feed(self, data: bytes) -> None:
        self._rest.append(data)
        if b"\n" not in data:
            return
        *lines, rest = b"".join(self._rest).split(b"\n")
        self._rest = [rest]
        for line in lines:
            self._line(line)

    def end(self) -> None:
        """The last line needs no newline."""
        rest, self._rest = b"".join(self._rest), []
        if rest:
            self._line(rest)
        if self._block is not None:
            self._note(Note("warning", NOT_CLOSED))
            self._line(FENCE.encode())

    def _line(self, raw: bytes) -> None:
        line = self._decode(raw).removesuffix("\r")
        if line.strip() == FENCE:
            if self._block is None:
                self._block = []
            else:
                self._add(Message("\n".join(self._block), block=True))
                self._block = None
        elif self._block is not None:
            self._block.append(line)
        else:
            self._add(Message(line.strip(), block=False))

    def _add(self, message: Message) -> None:
        if message.text.strip():
            self.ready.append(message)

    def _decode(self, raw: bytes) -> str:
        if self._first:
            raw, self._first = raw.removeprefix(codecs.BOM_UTF8), False
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            if not self._told:
                self._told = True
                self._note(Note("warning", NOT_UTF8))
            return raw.decode("cp1252", "replace")


def decode_input(raw: bytes, note: Callable[[Note], None]) -> str:
    """All of an input at once, as a prompt: UTF-8, else Windows-1252, which is said."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        note(Note("warning", NOT_UTF8))
        return raw.decode("cp1252", "replace")


class PipeInput:
    """An `InputSource`. Reads only when it is asked, so a program that writes forever is harmless."""

    def __init__(
        self,
        stream: TextIO | None,
        commands: Commands,
        *,
        note: Callable[[Note], None],
        react: Callable[[Reaction], None],
        prompt: Callable[[], None] | None = None,
    ) -> None:
        """`note` takes what the input itself has to say, `react` a command's reaction, `prompt` is called
        before each wait for a line."""
        self._fd = None if stream is None else stream.fileno()
        self._messages = Messages(note)
        self._commands = commands
        self._react = react
        self._prompt = prompt
        self._ended = self._fd is None
        self._left: Leave | None = None
        self._waiting: asyncio.Future[None] | None = None

    def leave(self, reason: LeaveReason) -> None:
        """Makes `next` end the session, also while it waits."""
        self._left = self._left or Leave(reason)
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def next(self) -> UserInput | Compact | Leave:
        while self._left is None:
            message = await self._next_message()
            if message is None:
                return self._left or Leave("eof")
            reaction = None if message.block else self._commands.react(message.text)
            if reaction is None:
                return UserInput(message.text)
            self._react(reaction)
            if reaction.leave:
                return Leave(reaction.leave)
            if reaction.compact is not None:
                return Compact(reaction.compact)
            if reaction.say:
                return UserInput(reaction.say)
        return self._left

    def unread(self) -> int:
        """How many messages are there that nobody asked for, as far as that is known without waiting."""
        while not self._ended and self._fd is not None and _has_data(self._fd):
            self._read(self._fd)
            if len(self._messages.ready) > 1000:
                break
        return len(self._messages.ready)

    async def _next_message(self) -> Message | None:
        if self._prompt and not self._messages.ready and not self._ended:
            self._prompt()
        while not self._messages.ready:
            if self._ended or self._left or self._fd is None:
                return None
            if await self._readable(self._fd):
                self._read(self._fd)
        return self._messages.ready.popleft()

    async def _readable(self, fd: int) -> bool:
        """Returns when a read does not block, or False when the session is left; cancelling loses nothing."""
        loop = asyncio.get_running_loop()
        self._waiting = ready = loop.create_future()
        try:
            loop.add_reader(fd, lambda: None if ready.done() else ready.set_result(None))
        except PermissionError:  # a file or the null device, which never block
            return True
        except NotImplementedError:  # this system's loop cannot watch a pipe; the read itself waits
            return True
        try:
            await ready
        finally:
            loop.remove_reader(fd)
        return self._left is None

    async def answer(self) -> str | None:
        """The next message that comes from now on, as an answer; what came before stays for the turns."""
        before = len(self._messages.ready) if self._fd is None else self.unread()
        while len(self._messages.ready) <= before:
            if self._ended or self._left or self._fd is None:
                return None
            if await self._readable(self._fd):
                self._read(self._fd)
        message = self._messages.ready[before]
        del self._messages.ready[before]
        return message.text

    def _read(self, fd: int) -> None:
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:  # somebody made it non-blocking and read first
            return
        except OSError:  # a terminal that hung up, a folder
            data = b""
        if data:
            self._messages.feed(data)
        else:
            self._ended = True
            self._messages.end()


def _has_data(fd: int) -> bool:
    try:
        return bool(select.select([fd], [], [], 0)[0])
    except (OSError, ValueError):
        return False
