"""Turns that are taken back: gone from the messages, not from the log nor from what was spent."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.engine import violations
from support.session_logs import T0, started

from agent_chat.core.events import (
    ContextShortened,
    Entry,
    Event,
    ModelReplied,
    Rewound,
    SessionResumed,
    ToolStarted,
    TurnStarted,
    UserSaid,
)
from agent_chat.core.messages import Message, ToolCall
from agent_chat.core.model import Usage
from agent_chat.core.projection import project
from agent_chat.core.state import KeptTurn, State


def answer(text: str, *calls: ToolCall) -> ModelReplied:
    return ModelReplied(
        model="m",
        text=text,
        calls=calls,
        finish_reason="stop",
        usage=Usage(10, 0, 5),
        cost_usd=0.5,
        duration_s=1,
    )


def turn(number: int) -> list[Event]:
    return [TurnStarted(), UserSaid(text=f"question {number}"), answer(f"answer {number}")]


def turns(*numbers: int) -> list[Event]:
    return [started(), *(event for number in numbers for event in turn(number))]


def messages(events: Sequence[Event]) -> tuple[Message, ...]:
    found = project(events)
    assert violations(found) == []
    return found


@pytest.mark.parametrize("taken", [1, 2, 3])
def test_the_messages_are_those_from_before(taken: int) -> None:
    log = turns(1, 2, 3)
    back = [*log, Rewound(to_turn=4 - taken, turns=taken)]
    assert messages(back) == messages(turns(*range(1, 4 - taken)))
    assert messages([*back, *turn(4)]) == messages(turns(*range(1, 4 - taken), 4))


def test_going_back_again_does_not_count_what_was_taken_back() -> None:
    back = [*turns(1, 2, 3), Rewound(to_turn=3, turns=1), *turn(4), Rewound(to_turn=2, turns=2), *turn(5)]
    assert messages(back) == messages(turns(1, 5))


def test_a_message_that_stayed_unanswered_is_as_it_was() -> None:
    failed: list[Event] = [started(), TurnStarted(), UserSaid(text="unanswered")]
    back = [*failed, *turn(2), Rewound(to_turn=2, turns=1)]
    assert messages(back) == messages(failed)
    assert messages([*back, *turn(3)]) == messages([*failed, *turn(3)])


def test_calls_that_a_crash_left_open_stay_answered() -> None:
    open_call = answer("", ToolCall("c1", "write", "{}"))
    begun = ToolStarted(call_id="c1", name="write", arguments={}, effect="write", idempotency_key="k")
    crashed: list[Event] = [started(), TurnStarted(), UserSaid(text="q"), open_call, begun]
    assert messages([*crashed, *turn(2), Rewound(to_turn=2, turns=1)]) == messages(crashed)
    assert messages([*crashed, Rewound(to_turn=1, turns=1)]) == messages([started()])


def test_what_a_turn_shortened_is_there_again() -> None:
    log = turns(1, 2)
    shortening = [TurnStarted(), UserSaid(text="q"), ContextShortened(dropped=2, tool_result_limit=10)]
    assert messages([*log, *shortening, answer("a"), Rewound(to_turn=3, turns=1)]) == messages(log)
    later = [*log, *shortening, answer("a"), *turn(4)]
    assert messages([*later, Rewound(to_turn=4, turns=1)]) == messages(later[: -len(turn(4))])


def test_the_system_prompt_stays_what_it_is_now() -> None:
    resumed = SessionResumed(program_version="1", model="m", tools=(), system="another")
    back = [*turns(1), resumed, *turn(2), Rewound(to_turn=1, turns=2)]
    assert messages(back) == messages([started(), resumed])


def test_going_back_further_than_there_are_turns_changes_nothing() -> None:
    for taken in (0, 2):
        assert messages([*turns(1), Rewound(to_turn=1, turns=taken)]) == messages(turns(1))


def test_what_was_spent_stays_spent() -> None:
    state = State()
    number = 0
    for seq, event in enumerate([*turns(1, 2), Rewound(to_turn=2, turns=1), *turn(3)], 1):
        number += isinstance(event, TurnStarted)
        state.apply(Entry(seq, T0, "s", number, 0, event))
    assert (state.turn, state.session_spent.cost, state.session_spent.usage.total) == (3, 1.5, 45)
    assert state.turns == [KeptTurn(1, 2, "question 1"), KeptTurn(3, 9, "question 3")]
