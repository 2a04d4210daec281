"""Any encoding, and a reader that goes away."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from agent_chat.ui.stdout import Output


def written(encoding: str, text: str) -> bytes:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    Output(stream).write(text)
    return raw.getvalue()


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [("utf-8", "✓ é\n".encode()), ("cp1252", b"? \xe9\n"), ("ascii", b"? ?\n")],
)
def test_r39_what_the_encoding_does_not_have_is_replaced(encoding: str, expected: bytes) -> None:
    assert written(encoding, "✓ é\n") == expected


def test_a_newline_stays_a_newline() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="utf-8", newline="\r\n")
    Output(stream).write("a\nb\n")
    assert raw.getvalue() == b"a\nb\n"


def test_a_stream_that_was_closed_at_the_start_takes_everything() -> None:
    output = Output(None)
    output.line("nobody hears this")
    assert (output.gone, output.error, output.is_terminal) == (False, None, False)


def test_r34_a_reader_that_has_gone_is_noticed_and_nothing_more_is_written() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        output = Output(stream)
        output.write("first\n")
        assert (output.gone, output.error) == (True, None)
        output.write("second\n")


def test_a_full_disk_is_an_error() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "w", encoding="utf-8") as stream:
        output = Output(stream)
        output.write("lost\n")
        assert output.gone is False
        assert output.error is not None
        assert output.error.strerror == "No space left on device"
