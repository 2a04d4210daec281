"""What a slash command says and does."""

from __future__ import annotations

import pytest
from support.faces import FakeControls

from agent_chat.core.budget import Limits, Spent
from agent_chat.core.model import Usage
from agent_chat.ui.commands import COMMANDS, Booked, Commands, Reaction, SessionInfo, ToolInfo


def said(line: str, controls: FakeControls | None = None) -> str:
    reaction = Commands(controls or FakeControls()).react(line)
    assert reaction is not None
    return "\n".join(note.text for note in reaction.notes)


@pytest.mark.parametrize(
    "line", ["hello", "/usr/bin/env is what?", "/ is the root", "exit now", "what is /help?"]
)
def test_a_message_is_no_command(line: str) -> None:
    assert Commands(FakeControls()).react(line) is None


@pytest.mark.parametrize("line", ["exit", "quit", ":q", "/exit", "/quit", "  /exit  "])
def test_ways_to_leave(line: str) -> None:
    assert Commands(FakeControls()).react(line) == Reaction(leave="exit")


def test_help_lists_every_command() -> None:
    text = said("/help")
    assert all(f"/{command.name}" in text and command.help in text for command in COMMANDS)


def test_an_unknown_command_is_answered_with_the_nearest() -> None:
    assert said("/tolls") == "There is no command /tolls. Did you mean /tools?"
    assert said("/zzz") == "There is no command /zzz. /help lists all commands."


def test_something_behind_a_command_that_takes_nothing_is_an_error() -> None:
    assert said("/exit now") == "/exit takes nothing behind it."


def test_the_model_is_shown_and_exchanged() -> None:
    controls = FakeControls()
    assert said("/model", controls) == "In use: main\nKnown: main, backup"
    assert said("/model backup", controls) == "From the next message on: backup"
    assert said("/model bakup", controls) == "There is no model bakup.\nDid you mean backup?"
    assert controls.model() == "backup"


def test_r28_r29_names_are_shown_literally() -> None:
    controls = FakeControls()
    controls.tool_list = [ToolInfo("[red]x\x1b[2J", "read", "Does [bold]x[/bold].\nMore.")]
    assert said("/tools", controls) == "[red]x␛[2J  read     Does [bold]x[/bold]."


def test_the_tools() -> None:
    assert said("/tools") == "There are no tools in this session."
    controls = FakeControls()
    controls.tool_list = [ToolInfo("now", "read", "The time."), ToolInfo("shell", "execute", "Runs.")]
    assert said("/tools", controls) == "now    read     The time.\nshell  execute  Runs."


def test_what_was_spent_and_what_may_be() -> None:
    controls = FakeControls()
    controls.spent_so_far = Spent(2, 1, Usage(1000, 0, 50), 0.25, True, 3.0)
    controls.both_limits = (Limits(iterations=20), Limits(cost=1.0))
    assert said("/cost", controls) == (
        "This session: 2 iterations | 1 tool call | 1,000 tokens in, 50 out | $0.2500 | 3.0 s"
    )
    controls.bookings = [
        Booked("Last turn", Usage(10, 0, 5), 0.0, True),
        Booked("By odd\x1b", Usage(10, 0, 5), 0.0, False),
        Booked("Today, all sessions", Usage(10, 0, 5), 0.5, False),
    ]
    assert said("/cost", controls).splitlines()[1:] == [
        "Last turn: 10 tokens in, 5 out | $0",
        "By odd␛: 10 tokens in, 5 out | cost unknown",
        "Today, all sessions: 10 tokens in, 5 out | $0.5000 and more, unknown",
    ]
    assert said("/budget", controls) == ("step limit (20) for each turn\nsession cost limit ($1): 25 % used")


def test_the_system_prompt() -> None:
    assert said("/system") == "You help."


def test_taking_a_change_back() -> None:
    controls = FakeControls()
    assert said("/undo", controls) == "a.py is as it was."
    controls.changed_since = True
    assert said("/undo", controls) == "a.py was changed by something else since.\n/undo force does it."
    assert said("/undo everything", controls) == "/undo takes nothing behind it but the word force."
    assert controls.undone == 1
    assert said("/undo force", controls) == "a.py is as it was."


def test_going_back_to_before_a_turn_offers_its_message() -> None:
    controls = FakeControls()
    reaction = Commands(controls).react("/rewind")
    assert reaction is not None
    assert (reaction.offer, reaction.say) == ("what was said", "")
    assert said("/rewind 1", controls) == "Back to before turn 1."
    said("/rewind 1 files", controls)
    said("/rewind --files", controls)
    assert controls.rewound == [(None, False), (1, False), (1, True), (None, True)]
    assert said("/rewind 9", controls).startswith("There is no turn 9")
    for wrong in ("/rewind -1", "/rewind one", "/rewind 1 2", "/rewind files 1"):
        assert said(wrong, controls).startswith("/rewind takes the number of a turn")
    assert len(controls.rewound) == 4


def test_the_last_message_is_sent_again() -> None:
    controls = FakeControls()
    reaction = Commands(controls).react("/retry")
    assert reaction is not None
    assert (reaction.offer, reaction.say) == ("", "what was said")
    assert Commands(controls).react("/retry backup") is not None
    assert controls.model() == "backup"
    assert said("/retry bakup", controls) == "There is no model bakup.\nDid you mean backup?"
    assert controls.rewound == [(None, False), (None, False)]


def test_past_sessions_and_going_on_with_one() -> None:
    assert said("/sessions") == "There are no past sessions."
    controls = FakeControls()
    controls.past = [
        SessionInfo("ab12", 0.0, 3, "Hello\nthere"),
        SessionInfo("cd34", 0.0, 1, "Bye", "a \x1b b"),
    ]
    lines = said("/sessions", controls).splitlines()
    assert (lines[0][:12], lines[0][-14:]) == (" 1  ab12  19", "3 turns  Hello")
    assert (lines[1][:8], lines[2:]) == (
        " 2  cd34",
        ["    a ␛ b", "/resume with a number or an id goes on with one of them."],
    )
    assert said("/resume", controls).splitlines() == lines
    assert [line[:8] for line in said("/sessions Bye", controls).splitlines()[:1]] == [" 1  cd34"]
    assert said("/sessions zebra", controls) == "Nothing was found."
    assert Commands(controls).react("/resume ab12") == Reaction(leave="exit")
    assert controls.resumed == "ab12"


def test_a_copy_of_the_session_goes_on() -> None:
    reaction = Commands(FakeControls()).react("/fork 3")
    assert reaction is not None
    assert (reaction.leave, reaction.notes[0].text) == ("exit", "Going on in a copy, from before turn 3.")
    assert said("/fork") == "Going on in a copy, from before turn None."
    assert said("/fork here") == "/fork takes the number of a turn, to go on from before it."
    failed = Commands(FakeControls()).react("/fork 9")
    assert failed is not None
    assert (failed.leave, failed.notes[0].kind) == (None, "error")


def test_the_session_is_written_to_a_file() -> None:
    assert said("/export html a b.html") == "Written: html a b.html"
    assert said("/export") == "Written: "


def test_reactions_that_are_the_faces() -> None:
    commands = Commands(FakeControls())
    assert commands.react("/clear") == Reaction(clear=True)
    assert commands.react("/verbose") == Reaction(toggle_verbose=True)
