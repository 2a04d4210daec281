"""Messages out of bytes, and out of real pipes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pytest
from support.faces import FakeControls

from agent_chat.core.ports import Leave, UserInput
from agent_chat.ui.commands import Commands, Reaction
from agent_chat.ui.pipe import NOT_CLOSED, NOT_UTF8, Messages, PipeInput, decode_input
from agent_chat.ui.shown import Note


def cut(*pieces: bytes) -> tuple[list[str], list[str]]:
    """The messages, and what was said about the input."""
    notes: list[Note] = []
    messages = Messages(notes.append)
    for piece in pieces:
        messages.feed(piece)
    messages.end()
    return [message.text for message in messages.ready], [note.text for note in notes]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"one\ntwo", ["one", "two"]),
        (b"one\r\ntwo\r\n", ["one", "two"]),
        (b"\n  \n\t\n", []),
        (b"", []),
        (b'a\n"""\nx\n\n  y\n"""\nb\n', ["a", "x\n\n  y", "b"]),
        (b'"""\n\n"""\n', []),
        (b'say """ now\n', ['say """ now']),
        (b"\xef\xbb\xbfone\n", ["one"]),
    ],
)
def test_r36_one_line_is_one_message(data: bytes, expected: list[str]) -> None:
    assert cut(data) == (expected, [])
    assert cut(*(data[at : at + 1] for at in range(len(data)))) == (expected, [])


def test_r39_other_bytes_are_read_as_cp1252_and_said_once() -> None:
    assert cut(b"caf\xe9 \x93q\x94\nna\xefve\nok \xe2\x9c\x93\n") == (
        ["café “q”", "naïve", "ok ✓"],
        [NOT_UTF8],
    )
    notes: list[Note] = []
    assert decode_input(b"caf\xe9 \x93q\x94", notes.append) == "café “q”"
    assert [note.text for note in notes] == [NOT_UTF8]


def test_a_block_that_is_not_closed_ends_with_the_input() -> None:
    assert cut(b'"""\nx\ny') == (["x\ny"], [NOT_CLOSED])


class Piped:
    """A session's input whose other end the test holds."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        self._stream: TextIO = os.fdopen(self.reader, encoding="utf-8")
        self.notes: list[Note] = []
        self.reactions: list[Reaction] = []
        self.inputs = PipeInput(
            self._stream,
            Commands(FakeControls()),
            note=self.notes.append,
            react=self.reactions.append,
        )

    def write(self, data: bytes) -> None:
        os.write(self.writer, data)

    def close(self) -> None:
        os.close(self.writer)

    def close_reader(self) -> None:
        self._stream.close()


@pytest.fixture
def piped() -> Iterator[Piped]:
    pipe = Piped()
    yield pipe
    pipe.close_reader()


async def test_r36_the_input_ends_quietly(piped: Piped) -> None:
    piped.write(b"one\ntwo")
    piped.close()
    inputs = piped.inputs
    got = [await inputs.next(), await inputs.next(), await inputs.next(), await inputs.next()]
    assert got == [UserInput("one"), UserInput("two"), Leave("eof"), Leave("eof")]
    assert piped.notes == []


async def test_waiting_for_a_line_can_be_cancelled_and_loses_nothing(piped: Piped) -> None:
    waiting = asyncio.ensure_future(piped.inputs.next())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    piped.write(b"late\n")
    assert await piped.inputs.next() == UserInput("late")
    piped.close()


async def test_leaving_wakes_who_waits(piped: Piped) -> None:
    waiting = asyncio.ensure_future(piped.inputs.next())
    await asyncio.sleep(0)
    piped.inputs.leave("terminated")
    assert await waiting == Leave("terminated")
    piped.write(b"late\n")
    assert await piped.inputs.next() == Leave("terminated")
    piped.close()


async def test_an_answer_is_what_comes_after_the_question(piped: Piped) -> None:
    piped.write(b"one\ntwo\n")
    assert await piped.inputs.next() == UserInput("one")
    answer = asyncio.ensure_future(piped.inputs.answer())
    await asyncio.sleep(0)
    piped.write(b"yes\n")
    assert await answer == "yes"
    assert await piped.inputs.next() == UserInput("two")
    piped.close()
    assert await piped.inputs.answer() is None


async def test_commands_are_carried_out_and_not_sent(piped: Piped) -> None:
    piped.write(b'/cost\n/serach\nhi\n"""\n/exit\n"""\n/exit\nnever\n')
    inputs = piped.inputs
    assert [await inputs.next() for _ in range(4)] == [
        UserInput("hi"),
        UserInput("/exit"),
        Leave("exit"),
        UserInput("never"),
    ]
    assert [reaction.notes[0].kind for reaction in piped.reactions[:2]] == ["reply", "error"]
    piped.close()


async def test_r40_what_is_left_unread_is_counted_without_waiting(piped: Piped) -> None:
    piped.write(b"one\n")
    assert await piped.inputs.next() == UserInput("one")
    assert piped.inputs.unread() == 0
    piped.write(b"two\nthree\n")
    assert piped.inputs.unread() == 2
    piped.close()


@contextmanager
def opened(path: Path) -> Generator[PipeInput]:
    with path.open(encoding="utf-8") as stream:
        yield PipeInput(stream, Commands(FakeControls()), note=print, react=print)


async def test_a_file_a_null_device_and_a_closed_input_end(tmp_path: Path) -> None:
    script = tmp_path / "script.txt"
    script.write_bytes(b"one\n")
    with opened(script) as inputs:
        assert [await inputs.next(), await inputs.next()] == [UserInput("one"), Leave("eof")]
    with opened(Path(os.devnull)) as inputs:
        assert await inputs.next() == Leave("eof")
    closed = PipeInput(None, Commands(FakeControls()), note=print, react=print)
    assert await closed.next() == Leave("eof")
