"""Which words people see for what happens."""

from __future__ import annotations

from typing import get_args

import pytest
from support.engine import FakeTool, call, echo
from support.faces import ViewSink, converse, entry, notes, session

from agent_chat.core.budget import Limits
from agent_chat.core.errors import ModelFailure
from agent_chat.core.events import (
    AttemptFailed,
    AttemptStarted,
    ContextShortened,
    CostUnknown,
    Event,
    IntentRejected,
    LimitWarning,
    ModelSwitched,
    Notice,
    ParameterDropped,
    ReplyDiscarded,
    RetryWaiting,
    ToolFinished,
    ToolRetried,
    ToolStarted,
    TurnEnded,
    UnknownEvent,
)
from agent_chat.core.model import CallDelta, Reply, TextDelta, ToolOutput, Usage
from agent_chat.core.outcome import KINDS, StopReason
from agent_chat.models.scripted import ScriptedModel, calls, text
from agent_chat.ui.phrases import HINTS, closing, cost, ending, seconds
from agent_chat.ui.shown import Note, Text, TextEnd, ToolText
from agent_chat.ui.view import View

DONE = Reply("done", usage=Usage(1200, 1000, 56, 20), cost_usd=0.0012)


async def test_a_turn_with_a_tool_from_first_to_last() -> None:
    sink = ViewSink()
    first = Reply(
        "I look.",
        (call("c1", "echo", '{"text": "a\\nb"}'),),
        "tool_calls",
        usage=Usage(10, 0, 5),
        cost_usd=0.001,
    )
    await converse(session(ScriptedModel(first, DONE), sink, echo()), "hi")
    assert sink.shown[0] == Note("detail", "session s1 started | scripted | tools: echo")
    assert sink.shown[1:] == [
        Note("user", "hi"),
        Note("detail", "iteration 1"),
        Text("I look."),
        TextEnd(),
        Note("call", 'echo(text="a\\nb")'),
        Note("result", "echo (0.0 s): a\nb"),
        Note("step", "iteration 2"),
        Text("done"),
        TextEnd(),
        Note(
            "closing",
            "2 iterations | 1 tool call | 1,210 tokens in (1,000 cached), 61 out (20 reasoning) | $0.0022"
            " | 0.0 s | session s1",
        ),
    ]


SHOWN: list[tuple[Event, str, str]] = [
    (AttemptStarted(model="main", attempt=1), "detail", "asking main"),
    (AttemptStarted(model="main", attempt=2), "step", "asking main again (attempt 2)"),
    (
        AttemptFailed(model="main", attempt=1, failure="unavailable", message="busy", status=529),
        "warning",
        "attempt 1 failed: main: busy",
    ),
    (
        RetryWaiting(model="main", seconds=2, message="slow down"),
        "notice",
        "waiting 2.0 s before asking main again: slow down",
    ),
    (
        ModelSwitched(from_model="main", to_model="backup", message="busy"),
        "notice",
        "switching from main to backup: busy",
    ),
    (
        ParameterDropped(model="m2", parameter="temperature", message="Unsupported parameter"),
        "notice",
        "m2 does not take temperature: left out: Unsupported parameter",
    ),
    (
        ReplyDiscarded(model="m", reason="empty", usage=None, cost_usd=None),
        "warning",
        "m returned nothing: neither text nor a tool call.",
    ),
    (
        IntentRejected(
            call_id="c1",
            name="serach",
            reason="unknown_tool",
            content="Not run: no such tool.\nThere are: x.",
        ),
        "failure",
        "serach not run (unknown tool): Not run: no such tool. There are: x.",
    ),
    (
        ToolStarted(
            call_id="c1",
            name="read_file",
            arguments={"path": "a.txt", "lines": 3},
            effect="read",
            idempotency_key="k",
        ),
        "call",
        'read_file(path="a.txt", lines=3)',
    ),
    (
        ToolRetried(call_id="c1", name="fetch", attempt=2, seconds=0.5, message="reset"),
        "notice",
        "fetch: trying again in 0.5 s (attempt 2): reset",
    ),
    (
        ToolFinished(
            call_id="c1", name="boom", ok=False, content="x", error_type="timeout", size=1, duration_s=0
        ),
        "failure",
        "boom (0.0 s): timeout: x",
    ),
    (
        ToolFinished(
            call_id="c1",
            name="list",
            ok=True,
            content="a\nb\nc\nd\ne\n",
            size=90_000,
            stored="r1",
            duration_s=12.3,
        ),
        "result",
        "list (90,000 characters, kept as r1, 12 s): a\nb\nc\n... 2 more lines",
    ),
    (
        LimitWarning(scope="turn", limit="iterations", used=40, of=50),
        "warning",
        "80 % of the step limit (50) is used: 40.",
    ),
    (
        LimitWarning(scope="session", limit="cost", used=0.95, of=1),
        "warning",
        "95 % of the session cost limit ($1) is used: $0.95.",
    ),
    (CostUnknown(model="m"), "warning", "The cost limit cannot be enforced: the price of m is unknown."),
    (
        ContextShortened(dropped=12, tool_result_limit=200),
        "warning",
        (
            "The context window is full. From here on the model no longer sees the first 12 messages. "
            "The whole conversation stays in the session."
        ),
    ),
    (Notice(message="for you"), "notice", "for you"),
    (UnknownEvent(type="new_thing", body={}), "detail", "an event of another version: new_thing"),
]


@pytest.mark.parametrize(("event", "kind", "words"), SHOWN, ids=lambda value: getattr(value, "type", None))
def test_the_words_for_an_event(event: Event, kind: str, words: str) -> None:
    assert notes(View(conversation=True).entry(entry(event))) == [(kind, words)]


def test_a_cause_that_was_just_told_is_not_told_again() -> None:
    view = View(conversation=True)
    view.entry(entry(AttemptFailed(model="m", attempt=1, failure="unavailable", message="busy")))
    shown = view.entry(entry(RetryWaiting(model="m", seconds=1, message="busy")))
    assert notes(shown) == [("notice", "waiting 1.0 s before asking m again")]


def test_long_arguments_stay_on_one_bounded_line() -> None:
    started = ToolStarted(
        call_id="c",
        name="write",
        arguments={"path": "p", "text": "x" * 9000},
        effect="write",
        idempotency_key="",
    )
    [(_, words)] = notes(View(conversation=True).entry(entry(started)))
    assert words.startswith('write(path="p", text="xxxx')
    assert words.endswith("...)")
    assert 250 < len(words) < 650


async def test_r10_the_step_limit_is_named_and_the_summary_is_shown() -> None:
    sink = ViewSink()
    again = calls(call("c1", "echo", '{"text": "a"}'))
    run = session(ScriptedModel(again, text("I got a.")), sink, echo(), turn=Limits(iterations=1))
    await converse(run, "hi")
    [error] = [words for kind, words in notes(sink.shown) if kind == "error"]
    assert error.splitlines() == ["Stopped at the step limit (1).", HINTS["max_iterations"]]
    assert sink.shown.count(Text("I got a.")) == 1


async def test_an_answer_that_the_runtime_composed_is_shown_too() -> None:
    sink = ViewSink()
    again = calls(call("c1", "echo", '{"text": "a"}'))
    run = session(
        ScriptedModel(again, ModelFailure("request", "no")), sink, echo(), turn=Limits(iterations=1)
    )
    await converse(run, "hi")
    [answer] = [one.text for one in sink.shown if isinstance(one, Text)]
    assert answer.startswith("The work was not completed. Stopped at the step limit (1).")


async def test_r13_a_message_that_got_no_answer_is_said_to_be_kept() -> None:
    sink = ViewSink()
    failing = session(ScriptedModel(ModelFailure("unavailable", "m: busy"), text("ok")), sink)
    await converse(failing, "hi", "again")
    [error] = [words for kind, words in notes(sink.shown) if kind == "error"]
    assert error.splitlines() == [
        "Failed (model_unavailable): m: busy",
        "Try again later, or name a second model with --fallback.",
        "Your message is kept and goes to the model together with your next one.",
    ]


async def test_r13_a_single_run_has_no_next_message() -> None:
    sink = ViewSink(conversation=False)
    await converse(session(ScriptedModel(ModelFailure("auth", "no key")), sink), "hi")
    [error] = [words for kind, words in notes(sink.shown) if kind == "error"]
    assert error.splitlines() == ["Failed (model_auth): no key", HINTS["model_auth"]]


async def test_r17_text_of_a_broken_attempt_is_marked_as_discarded() -> None:
    sink = ViewSink()
    broken = AttemptFailed(
        model="m", attempt=1, failure="connection", message="connection lost", discarded=True
    )
    steps = [TextDelta("Hello wor"), broken, TextDelta("Hello world."), Reply("Hello world.")]
    await converse(session(ScriptedModel(steps), sink), "hi")
    texts = [one for one in sink.shown if isinstance(one, Text | TextEnd)]
    assert texts == [Text("Hello wor"), TextEnd(discarded=True), Text("Hello world."), TextEnd()]


async def test_a_reply_that_was_not_streamed_is_shown_all_the_same() -> None:
    sink = ViewSink()
    await converse(session(ScriptedModel([Reply("whole")]), sink), "hi")
    assert [one for one in sink.shown if isinstance(one, Text | TextEnd)] == [Text("whole"), TextEnd()]


async def test_r27_the_repeated_call_is_named() -> None:
    sink = ViewSink()
    again = calls(call("c1", "echo", '{"text": "a"}'))
    await converse(session(ScriptedModel(again, repeat_last=True), sink, echo()), "hi")
    [error] = [words for kind, words in notes(sink.shown) if kind == "error"]
    assert 'echo({"text": "a"})' in error


def test_r29_names_and_messages_cannot_act_on_the_terminal() -> None:
    view = View(conversation=True)
    evil = "a\x1b[2J\x07b"
    events: list[Event] = [
        ToolStarted(call_id="c", name=evil, arguments={evil: evil}, effect="read", idempotency_key=""),
        ToolFinished(call_id="c", name=evil, ok=True, content=evil, size=1, duration_s=0),
        IntentRejected(call_id="c", name=evil, reason="unknown_tool", content=evil),
        AttemptFailed(model=evil, attempt=1, failure="request", message=evil),
        RetryWaiting(model=evil, seconds=1, message=evil),
        ModelSwitched(from_model=evil, to_model=evil, message=evil),
        Notice(message=evil),
        ended("model_request", evidence=evil),
    ]
    words = "".join(text for event in events for _, text in notes(view.entry(entry(event))))
    assert "\x1b" not in words
    assert "\x07" not in words
    assert words.count("a␛[2J␇b") >= len(events)


def test_the_status_says_what_runs_now() -> None:
    view = View(conversation=True)
    view.entry(entry(AttemptStarted(model="main", attempt=1)))
    assert view.status == "asking main"
    view.delta(TextDelta("x"))
    assert view.status == "answering"
    view.delta(CallDelta(0, "read_file", "{"))
    assert view.status == "writing a call of read_file"
    view.entry(entry(ToolStarted(call_id="c", name="nap", arguments={}, effect="read", idempotency_key="")))
    assert view.status == "running nap"
    assert view.delta(ToolOutput("c", "half")) == (ToolText("nap", "half"),)
    view.entry(entry(ended("final_answer")))
    assert view.status == ""


def test_every_stop_reason_has_words_and_every_one_that_is_no_success_says_what_next() -> None:
    assert set(HINTS) == set(get_args(StopReason))
    for reason, kind in KINDS.items():
        words = ending(ended(reason, evidence="Because."))
        assert (words == "") == (kind == "completed")
        if kind not in ("completed", "cancelled"):
            assert "Because." in words
            assert len(words.splitlines()) == 2


def ended(reason: StopReason, *, evidence: str = "") -> TurnEnded:
    return TurnEnded(
        kind=KINDS[reason],
        reason=reason,
        answer="",
        evidence=evidence,
        iterations=1,
        tool_calls=0,
        usage=Usage(3, 0, 1),
        cost_usd=None,
        duration_s=75.2,
    )


def test_r21_an_unknown_cost_is_called_unknown() -> None:
    words = closing(ended("final_answer"), "s1")
    assert words == "1 iteration | 3 tokens in, 1 out | cost unknown | 75 s | session s1"


@pytest.mark.parametrize(
    ("amount", "words"), [(None, "cost unknown"), (0.0, "$0"), (0.00001, "under $0.0001"), (1.5, "$1.5000")]
)
def test_amounts_of_money(amount: float | None, words: str) -> None:
    assert cost(amount) == words


def test_amounts_of_time() -> None:
    assert [seconds(amount) for amount in (0, 9.94, 10, 119, 200)] == [
        "0.0 s",
        "9.9 s",
        "10 s",
        "119 s",
        "3 min 20 s",
    ]


async def test_a_tool_that_fails_is_told_apart() -> None:
    def fail(_: object) -> str:
        raise RuntimeError("x")

    sink = ViewSink()
    model = ScriptedModel(calls(call("c1", "boom")), text("ok"))
    await converse(session(model, sink, FakeTool("boom", fail)), "hi")
    assert ("failure", "boom (0.0 s): Error: RuntimeError: x") in notes(sink.shown)
