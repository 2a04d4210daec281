"""History, color, the kind of a terminal, a failing face, and what an import costs."""

from __future__ import annotations

import io
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from support.faces import Stream, converse, entry, session

from agent_chat.core.events import Entry, Notice
from agent_chat.core.model import Delta, TextDelta
from agent_chat.models.scripted import ScriptedModel, text
from agent_chat.ui.guard import GuardedSink
from agent_chat.ui.history import PrivateHistory
from agent_chat.ui.kind import face_kind, takes_no_escapes, wants_color
from agent_chat.ui.line import LineSink
from agent_chat.ui.paint import Paint
from agent_chat.ui.shown import Note


def test_history_is_kept_privately_the_latest_first(tmp_path: Path) -> None:
    path = tmp_path / "state" / "history"
    history = PrivateHistory(path)
    history.store_string("one\nline two")
    history.store_string("日本")
    assert list(PrivateHistory(path).load_history_strings()) == ["日本", "one\nline two"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_damaged_history_costs_only_what_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_bytes(b'"good"\n{not json\n\xff\n7\n"also good"\n')
    assert list(PrivateHistory(path).load_history_strings()) == ["also good", "good"]


@pytest.mark.parametrize("path", [None, Path("/proc/nope/history")])
def test_r43_a_history_without_a_place_is_none(path: Path | None) -> None:
    history = PrivateHistory(path)
    history.store_string("lost")
    assert list(history.load_history_strings()) == []


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_r33_the_kind_of_face() -> None:
    pipe, tty = io.StringIO(), Tty()
    assert face_kind(tty, tty, {"TERM": "xterm"}) == "terminal"
    assert face_kind(tty, tty, {"TERM": "dumb"}) == "line"
    assert face_kind(tty, tty, {}) == "line"
    assert face_kind(pipe, tty, {"TERM": "xterm"}) == "pipe"
    assert face_kind(tty, pipe, {"TERM": "xterm"}) == "pipe"
    assert face_kind(None, tty, {"TERM": "xterm"}) == "pipe"
    assert takes_no_escapes({"TERM": "unknown"})


def test_r33_color_is_a_matter_of_the_option_then_of_the_environment() -> None:
    assert wants_color({})
    assert not wants_color({"NO_COLOR": "1"})
    assert wants_color({"NO_COLOR": ""})
    assert wants_color({"NO_COLOR": "1"}, "always")
    assert not wants_color({}, "never")


def test_notes_are_painted_line_by_line() -> None:
    note = Note("error", "Failed\nTry again")
    assert Paint(color=True, unicode=True).note(note) == [
        "\x1b[31;1merror: Failed\x1b[0m",
        "\x1b[31;1m       Try again\x1b[0m",
    ]
    assert Paint(color=False, unicode=True).note(note)[0] == "\x1b[1merror: Failed\x1b[0m"
    assert Paint(color=False, unicode=True).note(Note("call", "x()")) == ["* x()"]


class Broken:
    async def emit(self, entry: Entry) -> None:
        raise RuntimeError("no")

    def show(self, delta: Delta) -> None:
        raise RuntimeError("no")


async def test_a_face_that_fails_does_not_fail_the_turn_and_is_told_once() -> None:
    told: list[str] = []
    guarded = GuardedSink(Broken(), told.append)
    await guarded.emit(entry(Notice(message="x")))
    guarded.show(TextDelta("x"))
    await converse(session(ScriptedModel(text("ok")), guarded), "hi")
    assert told == ["Showing what happens failed (RuntimeError: no). The session goes on."]


async def test_the_line_face_writes_text_as_it_comes() -> None:
    out = Stream()
    sink = LineSink(out.output)
    sink.prompt()
    await converse(session(ScriptedModel(text("ok \x1b[2J")), sink), "hi")
    sink.prompt()
    assert out.text == "> ok ␛[2J\n> "


def test_the_input_line_stands_before_anything_heavy_is_loaded() -> None:
    code = "import sys, agent_chat.ui.terminal; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in result.stdout.split()}
    assert not loaded & {"rich", "pydantic", "markdown_it", "httpx", "openai", "litellm", "typer"}
