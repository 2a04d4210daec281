"""Recordings: what is read is what was written, and what is wrong is said with its line."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.session_logs import conversation, place

from agent_chat.core.errors import UserError
from agent_chat.core.events import Entry, UnknownEvent
from agent_chat.sessions.recording import Recorder, read_recording


def entries() -> list[Entry]:
    strange = UnknownEvent(type="from_the_future", body={"text": "\u2028 line", "n": [1, None]})
    return place("s1", [*conversation(2, "/w"), strange])


def written(path: Path, past: int = 0) -> list[Entry]:
    made = entries()
    recorder = Recorder(path, made[:past])
    for entry in made[past:]:
        asyncio.run(recorder.emit(entry))
    recorder.close()
    return made


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    made = written(path, past=5)
    recording = read_recording(path)
    assert list(recording.entries) == made
    assert recording.first == made[5].seq


def test_every_entry_is_there_at_once_and_a_last_line_that_was_cut_off_costs_itself(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    made = written(path)
    text = path.read_text("utf-8")
    for cut in (1, 10, 40):
        path.write_text(text[:-cut], "utf-8")
        assert list(read_recording(path).entries) == made[:-1]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "line 1: there is nothing in it"),
        ("{}\n", "line 1: the header is missing"),
        ("no json\n", "line 1: it is not JSON"),
        ('{"type": "recording", "format": 2}\n', "line 1: its format is 2, and this version reads 1"),
        ('{"type": "recording", "format": 1}\n{"type": "x"}\n', "line 2: it is no entry"),
        ('{"type": "recording", "format": 1}\n[]\n', "line 2: it is no object"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(content)
    with pytest.raises(UserError, match=r"run\.jsonl") as caught:
        read_recording(path)
    assert said in caught.value.message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_recording(tmp_path / "no.jsonl")
    with pytest.raises(UserError, match="cannot be written"):
        Recorder(tmp_path / "no" / "run.jsonl", ())
