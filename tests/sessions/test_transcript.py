"""A session turn by turn: what was said, what was done, how it ended."""

from __future__ import annotations

import pytest
from support.session_logs import T0, place, started, turn_events

from agent_chat.core.events import (
    IntentRejected,
    IterationStarted,
    ModelReplied,
    ReplyDiscarded,
    ReplyInterrupted,
    ToolStarted,
    TurnStarted,
    UserSaid,
)
from agent_chat.core.messages import ToolCall
from agent_chat.core.model import Usage
from agent_chat.sessions.transcript import ToolUse, TurnRecord, turns_of


def test_a_finished_turn() -> None:
    first, second = turns_of(place("s", [started(), *turn_events(1, "hi"), *turn_events(2, "more")]))
    assert first == TurnRecord(
        number=1,
        started=T0 + 2,
        said=["hi"],
        answer="answer 1",
        kind="completed",
        reason="final_answer",
        tools=[ToolUse("c1", "echo", '{"text": "a"}', ok=True, content="a", duration_s=0.1)],
        model="m",
        iterations=2,
        usage=Usage(100, 20, 20, 0),
        cost_usd=0.5,
        duration_s=1.5,
    )
    assert (second.number, second.said) == (2, ["more"])


def reply(text: str, *calls: ToolCall, cost_usd: float | None = None) -> ModelReplied:
    return ModelReplied(
        model="m", text=text, calls=calls, finish_reason="stop", usage=None, cost_usd=cost_usd, duration_s=1
    )


def test_a_turn_that_the_program_did_not_survive() -> None:
    calls = (ToolCall("c1", "nope", "{"), ToolCall("c2", "shell", '{"a": 1}'), ToolCall("c3", "echo", "{}"))
    rejected = IntentRejected(call_id="c1", name="nope", reason="unknown_tool", content="no such tool")
    ran = ToolStarted(call_id="c2", name="shell", arguments={"a": 2}, effect="execute", idempotency_key="k")
    [turn] = turns_of(
        place(
            "s",
            [
                started(),
                TurnStarted(),
                UserSaid(text="one"),
                IterationStarted(),
                reply("let me see", *calls),
                UserSaid(text="two"),
                rejected,
                ran,
            ],
        )
    )
    assert turn.said == ["one", "two"]
    assert turn.answer == "let me see"
    assert (turn.kind, turn.reason, turn.duration_s, turn.cost_usd) == (None, None, None, None)
    assert turn.tools == [
        ToolUse("c1", "nope", "{", ok=False, error_type="unknown_tool", content="no such tool"),
        ToolUse("c2", "shell", '{"a": 2}'),
        ToolUse("c3", "echo", "{}"),
    ]


def test_a_call_id_that_is_used_again_is_that_of_the_later_call() -> None:
    again = [event for event in turn_events(1) if not isinstance(event, TurnStarted)]
    [turn] = turns_of(place("s", [TurnStarted(), reply("", ToolCall("c1", "first", "{}")), *again]))
    assert [(tool.name, tool.ok) for tool in turn.tools] == [("first", None), ("echo", True)]


def test_what_was_discarded_counts_and_what_was_shown_stays() -> None:
    discarded = ReplyDiscarded(model="m", reason="empty", usage=Usage(7, 0, 0, 0), cost_usd=0.25)
    events = [TurnStarted(), discarded, reply("", cost_usd=0.5), ReplyInterrupted(text="half an ans")]
    [turn] = turns_of(place("s", events))
    assert turn.usage == Usage(7, 0, 0, 0)
    assert turn.cost_usd == pytest.approx(0.75)
    assert turn.answer == "half an ans"


def test_outside_of_turns_there_is_nothing() -> None:
    assert turns_of(place("s", [started(), UserSaid(text="x")])) == []
