"""Finished lines once and in order; a short tail of what is not finished."""

from __future__ import annotations

import pytest

from agent_chat.ui.paint import Paint
from agent_chat.ui.shown import Note, Reasoning, Shown, Text, TextEnd, ToolText, Verbosity
from agent_chat.ui.transcript import Transcript


def transcript(*shown: Shown, verbosity: Verbosity = "normal") -> Transcript:
    made = Transcript(Paint(color=False, unicode=True), 40, verbosity)
    for one in shown:
        made.add(one)
    while made.advance(1.0):
        pass
    return made


def test_text_and_notes_keep_their_order() -> None:
    made = transcript(Text("one\n\ntw"), Text("o"), TextEnd(), Note("reply", "a note"), Text("three"))
    assert made.lines() == ["one", "", "two", "a note"]
    assert made.tail(5) == ["three"]
    assert made.lines() == []


def test_r17_what_was_printed_of_a_broken_attempt_is_marked_and_the_rest_is_wiped() -> None:
    made = transcript(Text("one\n\ntwo\n\nthr"), TextEnd(discarded=True), Text("whole"), TextEnd())
    assert made.lines() == ["one", "", "two", "warning: The 3 lines above are discarded.", "whole"]
    wiped = transcript(Text("one"), TextEnd(discarded=True))
    assert (wiped.lines(), wiped.tail(5)) == ([], [])


def test_a_burst_is_worked_off_in_slices() -> None:
    made = Transcript(Paint(color=False, unicode=True), 40, "normal")
    made.add(Text("a line of text\n\n" * 2_000))
    assert made.advance(0.0)
    first = len(made.lines())
    assert 0 < first < 200
    while made.advance(0.0):
        pass
    assert first + len(made.lines()) == 4_000 - 1


def test_a_running_tool_shows_the_end_of_what_it_prints_until_it_is_done() -> None:
    made = transcript(Note("call", "run()"), ToolText("run", "1\n2\n3\n4\x1b[2J\n5\n"))
    assert made.tail(10) == ["\x1b[2m3\x1b[0m", "\x1b[2m4␛[2J\x1b[0m", "\x1b[2m5\x1b[0m"]
    made.add(Note("result", "run (1.0 s): done"))
    made.advance(1.0)
    assert made.tail(10) == []


@pytest.mark.parametrize(("verbosity", "kept"), [("normal", []), ("verbose", ["\x1b[2m- I think.\x1b[0m"])])
def test_reasoning_is_shown_while_it_comes_and_kept_when_asked_for(
    verbosity: Verbosity, kept: list[str]
) -> None:
    made = transcript(Reasoning("I th"), Reasoning("ink."), verbosity=verbosity)
    assert made.tail(10) == ["\x1b[2mI think.\x1b[0m"]
    made.add(Text("Yes"))
    made.advance(1.0)
    assert made.lines() == kept


def test_the_tail_is_never_higher_than_the_room_for_it() -> None:
    made = transcript(Text("".join(f"line {n}\n" for n in range(50))))
    assert len(made.tail(100)) == 12
    assert len(made.tail(3)) == 3
    assert made.tail(0) == []
    assert made.tail(-5) == []


def test_kinds_of_notes_by_verbosity() -> None:
    notes = [Note("step", "iteration 2"), Note("detail", "asking"), Note("error", "broken")]
    assert transcript(*notes, verbosity="quiet").lines() == ["\x1b[1merror: broken\x1b[0m"]
    assert len(transcript(*notes).lines()) == 2
    assert len(transcript(*notes, verbosity="verbose").lines()) == 3
