"""What a replay says of a log that it cannot repeat, and what it does with what others recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from support.engine import INFO, Bench, Box, FakeTool, ManualClock, bench, call, echo

from agent_chat.core.budget import Limits
from agent_chat.core.events import (
    DAMAGED,
    Entry,
    Event,
    LimitWarning,
    ModelReplied,
    Notice,
    SessionStarted,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    UnknownEvent,
)
from agent_chat.core.model import Reply
from agent_chat.core.observation import ToolResult
from agent_chat.engine.replay.run import Replay, ReplayedTurn
from agent_chat.engine.runtime import Rules
from agent_chat.models.scripted import ScriptedModel, calls, text


async def played(
    *steps: Reply, turns: int = 1, rules: Rules | None = None, tool: FakeTool | None = None
) -> Bench:
    b = bench(ScriptedModel(*steps), tool or echo(), rules=rules, clock=ManualClock(instant=False))
    await b.session.start(INFO)
    for number in range(turns):
        await b.session.turn(f"message {number + 1}")
    return b


async def replayed(entries: Sequence[Entry], **options: Any) -> list[ReplayedTurn]:
    return [turn async for turn in Replay(entries, clock=ManualClock(), **options).turns()]


def changed(entries: Sequence[Entry], kind: type[Event], **fields: object) -> list[Entry]:
    """The log with other fields in its first event of a type."""
    made, done = list(entries), False
    for place, entry in enumerate(made):
        if isinstance(entry.event, kind) and not done:
            made[place], done = replace(entry, event=entry.event.model_copy(update=fields)), True
    assert done
    return made


ECHO = (calls(call("c1", "echo", '{"text": "a"}'), call("c2", "echo", '{"text": "b"}')), text("done"))


async def test_the_first_difference_is_named_with_its_place_and_what_was_expected() -> None:
    b = await played(*ECHO)
    other = changed(b.sink.entries, ToolStarted, arguments={"text": "x"})
    [turn] = await replayed(other, toolbox=Box([echo()]))
    difference = turn.difference
    assert difference is not None
    assert (difference.turn, difference.iteration, difference.event) == (1, 1, "tool_started of echo (c1)")
    assert (difference.field, difference.expected, difference.got) == ("arguments.text", '"x"', '"a"')
    assert not turn.is_same


async def test_the_turns_after_a_difference_are_not_replayed() -> None:
    b = await played(*ECHO, *ECHO, turns=2)
    turns = await replayed(changed(b.sink.entries, TurnEnded, answer="another"))
    assert [(turn.number, turn.is_same) for turn in turns] == [(1, False)]
    assert turns[0].difference is not None
    assert turns[0].difference.field == "answer"


async def test_a_log_that_goes_on_where_the_loop_does_not_says_what_is_missing() -> None:
    b = await played(*ECHO)
    entries = [entry for entry in b.sink.entries if not isinstance(entry.event, ModelReplied)]
    [turn] = await replayed(entries)
    assert turn.difference is not None
    assert turn.difference.event == "tool_started of echo (c1)"
    assert turn.difference.got == "nothing: the loop waits"


async def test_what_was_changed_in_a_result_is_noticed_by_its_size() -> None:
    b = await played(*ECHO)
    [turn] = await replayed(changed(b.sink.entries, ToolFinished, content="forged"))
    assert turn.difference is not None
    assert (turn.difference.field, turn.difference.expected, turn.difference.got) == ("size", "1", "6")


async def test_a_damaged_entry_costs_its_turn_alone() -> None:
    b = await played(*ECHO, *ECHO, turns=2)
    entries = list(b.sink.entries)
    place = next(at for at, entry in enumerate(entries) if isinstance(entry.event, ToolFinished))
    entries[place] = replace(entries[place], event=UnknownEvent(type=DAMAGED, body={"problem": "empty"}))
    replay = Replay(entries, clock=ManualClock())
    first, second = await replay.turn(1), await replay.turn(2)
    assert first.problem == f"Its log is damaged at entry {entries[place].seq}."
    assert second.is_same


async def test_what_others_recorded_in_a_turn_is_no_difference() -> None:
    b = await played(*ECHO)
    entries = list(b.sink.entries)
    place = next(at for at, entry in enumerate(entries) if isinstance(entry.event, ToolFinished))
    for event in (Notice(message="by the way"), UnknownEvent(type="from_the_future", body={})):
        entries.insert(place, replace(entries[place], event=event))
    [turn] = await replayed(entries)
    assert turn.is_same


async def test_the_rules_are_those_of_the_log() -> None:
    b = await played(*ECHO, rules=Rules(max_repeats=7, result_limit=300))
    started = b.sink.of(SessionStarted)[0]
    assert (started.rules["max_repeats"], started.rules["result_limit"]) == (7, 300)
    again = calls(call("c1", "echo", '{"text": "a"}'))
    b = await played(*[again] * 2, text("sum"), rules=Rules(max_repeats=2))
    assert b.sink.of(TurnEnded)[0].reason == "repeated_calls"
    [turn] = await replayed(b.sink.entries)
    assert turn.is_same
    [turn] = await replayed(changed(b.sink.entries, SessionStarted, rules={}))
    assert turn.difference is not None, "the default is not what the log had"


async def test_a_tool_that_only_reads_is_run_where_that_is_asked_for_and_no_other() -> None:
    ran: list[Mapping[str, Any]] = []

    def noted(arguments: Mapping[str, Any]) -> ToolResult:
        ran.append(arguments)
        return ToolResult("done")

    for effect, times in (("read", 1), ("write", 0)):
        tool = FakeTool("echo", noted, effect=effect)  # pyright: ignore[reportArgumentType]
        b = await played(calls(call("c1", "echo")), text("done"), tool=tool)
        ran.clear()
        [turn] = await replayed(b.sink.entries, toolbox=Box([tool]), reads=True)
        assert turn.is_same
        assert len(ran) == times
        [turn] = await replayed(b.sink.entries, toolbox=Box([tool]))
        assert len(ran) == times


async def test_a_long_session_takes_time_for_each_turn_once() -> None:
    b = await played(*ECHO * 150, turns=150)
    began = asyncio.get_running_loop().time()
    turns = await replayed(b.sink.entries)
    assert all(turn.is_same for turn in turns)
    assert asyncio.get_running_loop().time() - began < 30


async def test_what_is_warned_of_is_the_same() -> None:
    steps = [calls(call("c1", "echo", f'{{"text": "{number}"}}')) for number in range(5)]
    b = await played(*steps, text("sum"), rules=Rules(turn=Limits(iterations=5)))
    assert b.sink.of(LimitWarning)
    [turn] = await replayed(b.sink.entries)
    assert turn.is_same
