"""A turn stops for exactly one reason, and the history stays valid whatever it was."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest
from support.engine import INFO, FakeTool, ManualClock, bench, call, echo, end_chat, settle, violations

from agent_chat.core.budget import Limits
from agent_chat.core.errors import POLICIES, FailureKind, ModelFailure
from agent_chat.core.events import (
    AttemptFailed,
    ContextShortened,
    CostUnknown,
    IntentRejected,
    LimitWarning,
    ReplyDiscarded,
    ReplyInterrupted,
    ToolFinished,
    ToolStarted,
    TurnEnded,
)
from agent_chat.core.messages import AssistantMessage, ToolMessage, UserMessage
from agent_chat.core.model import Query, Reply, TextDelta, Usage
from agent_chat.core.observation import ToolResult
from agent_chat.core.ports import ModelItem
from agent_chat.engine.runtime import Rules
from agent_chat.models.scripted import ScriptedModel, calls, text


async def test_final_answer() -> None:
    model = ScriptedModel(text("hello"))
    b = bench(model)
    outcome = await b.session.turn("hi")
    assert (outcome.kind, outcome.reason, outcome.answer) == ("completed", "final_answer", "hello")
    model.check()


async def test_the_next_query_contains_the_observation() -> None:
    model = ScriptedModel(calls(call("c1", "echo", '{"text": "a"}')), text("done"))
    b = bench(model, echo())
    outcome = await b.session.turn("hi")
    assert outcome.answer == "done"
    assert model.queries[1].messages[-1] == ToolMessage("c1", "echo", "a")


async def test_the_reply_is_journaled_before_its_tools_start_and_each_tool_before_and_after() -> None:
    b = bench(ScriptedModel(calls(call("c1", "echo", '{"text": "a"}')), text("done")), echo())
    await b.session.turn("hi")
    types = b.sink.types()
    assert (
        types.index("model_replied")
        < types.index("tool_started")
        < types.index("tool_finished")
        < types.index("iteration_ended")
    )


async def test_r03_calls_run_although_the_finish_reason_says_stop() -> None:
    model = ScriptedModel(Reply("", (call("c1", "echo", '{"text": "a"}'),), "stop"), text("done"))
    b = bench(model, echo())
    assert (await b.session.turn("hi")).answer == "done"
    assert len(model.queries) == 2


async def test_r04_a_call_cut_off_by_the_output_limit_never_runs() -> None:
    ran: list[str] = []
    shell = FakeTool("shell", lambda a: ran.append(str(a)) or "ran", effect="execute")
    cut = Reply("", (call("c1", "shell", '{"command": "rm -rf build'),), "length")
    model = ScriptedModel(cut, text("ok"))
    b = bench(model, shell)
    assert (await b.session.turn("hi")).answer == "ok"
    assert ran == []
    assistant, answer = model.queries[1].messages[-2:]
    assert isinstance(assistant, AssistantMessage)
    assert assistant.calls[0].arguments == "{}"
    assert isinstance(answer, ToolMessage)
    assert "output limit" in answer.text
    assert "shorter call" in answer.text


async def test_r04_a_call_cut_off_again_and_again_stops_the_turn() -> None:
    cut = Reply("", (call("c1", "shell", '{"command": "rm -rf build'),), "length")
    model = ScriptedModel(cut, repeat_last=True)
    b = bench(model, FakeTool("shell", lambda _: "ran", effect="execute"))
    outcome = await b.session.turn("hi")
    assert (outcome.kind, outcome.reason) == ("failed", "invalid_intents")
    assert "output limit" in outcome.evidence
    assert len(model.queries) <= 3


async def test_r06_an_empty_reply_is_asked_for_once_more_and_stays_out_of_the_history() -> None:
    model = ScriptedModel(Reply("", (), "stop"), text("here"))
    b = bench(model)
    assert (await b.session.turn("hi")).answer == "here"
    assert len(b.sink.of(ReplyDiscarded)) == 1
    assert violations(b.messages()) == []


@pytest.mark.parametrize("reason", ["stop", "tool_calls"])
async def test_r06_nothing_but_empty_replies_stop_the_turn(reason: str) -> None:
    empty = Reply("", (), "stop" if reason == "stop" else "tool_calls")
    model = ScriptedModel(empty, empty, text("ok"))
    b = bench(model)
    outcome = await b.session.turn("hi")
    assert (outcome.kind, outcome.reason) == ("failed", "empty_reply")
    assert "returned nothing" in outcome.evidence
    assert (await b.session.turn("again")).answer == "ok"
    assert violations(model.queries[-1].messages) == []


async def test_r08_an_unknown_tool_is_answered_with_the_real_names() -> None:
    model = ScriptedModel(calls(call("c1", "serach", '{"q": "x"}')), text("ok"))
    b = bench(model, FakeTool("search", lambda _: "found"), echo())
    assert (await b.session.turn("hi")).answer == "ok"
    [answer] = b.tool_texts()
    assert "Unknown tool 'serach'" in answer
    assert "search, echo" in answer


async def test_r08_unknown_tools_again_and_again_stop_the_turn() -> None:
    model = ScriptedModel(calls(call("c1", "serach")), repeat_last=True)
    b = bench(model, echo())
    outcome = await b.session.turn("hi")
    assert outcome.reason == "invalid_intents"
    assert "serach" in outcome.evidence
    assert len(model.queries) <= 5
    assert violations(b.messages()) == []


async def test_a_tool_outside_the_allow_list_is_named_so() -> None:
    b = bench(ScriptedModel(calls(call("c1", "shell")), text("ok")), echo(), hidden=["shell"])
    await b.session.turn("hi")
    [rejected] = b.sink.of(IntentRejected)
    assert rejected.reason == "not_allowed"
    assert b.sink.of(ToolStarted) == []


async def test_arguments_that_do_not_fit_are_observed() -> None:
    wrong = calls(call("c1", "echo", '{"txt": 1}'), call("c2", "echo", "[1]"), call("c3", "echo", "{oops"))
    b = bench(ScriptedModel(wrong, text("ok")), echo())
    await b.session.turn("hi")
    assert [one.reason for one in b.sink.of(IntentRejected)] == ["invalid_arguments"] * 3
    assert violations(b.messages()) == []


async def test_r26_one_of_several_fails_and_the_others_do_not() -> None:
    def boom(_: object) -> str:
        raise RuntimeError("x")

    wanted = calls(
        call("c1", "echo", '{"text": "a"}'), call("c2", "boom"), call("c3", "echo", '{"text": "c"}')
    )
    b = bench(ScriptedModel(wanted, text("ok")), echo(), FakeTool("boom", boom))
    assert (await b.session.turn("hi")).answer == "ok"
    assert b.tool_texts() == ["a", "Error: RuntimeError: x", "c"]


async def test_r27_the_same_call_again_and_again_ends_degraded() -> None:
    model = ScriptedModel(calls(call("c1", "echo", '{"text": "a"}')), repeat_last=True)
    b = bench(model, echo())
    outcome = await b.session.turn("hi")
    assert (outcome.kind, outcome.reason) == ("degraded", "repeated_calls")
    assert 'echo({"text": "a"})' in outcome.evidence
    assert len(b.sink.of(ToolFinished)) <= 6
    assert outcome.answer


async def test_r27_calls_that_differ_are_honest_work() -> None:
    steps = [calls(call(f"c{n}", "echo", f'{{"text": "{n}"}}')) for n in range(8)]
    b = bench(ScriptedModel(*steps, text("ok")), echo())
    assert (await b.session.turn("hi")).answer == "ok"


async def test_r27_the_same_call_with_new_results_is_honest_work() -> None:
    ticks = iter(range(100))
    tick = FakeTool("tick", lambda _: str(next(ticks)))
    steps = [calls(call(f"c{n}", "tick")) for n in range(8)]
    b = bench(ScriptedModel(*steps, text("ok")), tick)
    assert (await b.session.turn("hi")).answer == "ok"


async def test_r10_the_step_limit_ends_degraded_with_the_models_summary() -> None:
    def act(n: int) -> Reply:
        return calls(call(f"c{n}", "echo", f'{{"text": "{n}"}}'), content="working on it")

    model = ScriptedModel(act(1), act(2), text("I know 1 and 2."), text("ok"))
    b = bench(model, echo(), turn=Limits(iterations=2))
    outcome = await b.session.turn("hi")
    assert (outcome.kind, outcome.reason, outcome.answer) == ("degraded", "max_iterations", "I know 1 and 2.")
    assert "step limit (2)" in outcome.evidence
    [ended] = b.sink.of(TurnEnded)
    assert ended.iterations == 2
    assert model.queries[2].tool_choice == "none"
    assert model.queries[2].max_output_tokens is not None
    assert (await b.session.turn("go on")).answer == "ok"
    assert violations(model.queries[-1].messages) == []


async def test_r10_a_model_that_gives_no_summary_gets_one_composed_from_what_happened() -> None:
    model = ScriptedModel(
        calls(call("c1", "echo", '{"text": "found it"}'), content="Looking."), repeat_last=True
    )
    b = bench(model, echo(), turn=Limits(iterations=2))
    outcome = await b.session.turn("hi")
    assert "Looking." in outcome.answer
    assert "found it" in outcome.answer
    assert "not completed" in outcome.answer
    assert violations(b.messages()) == []


async def test_a_limit_is_warned_of_once_when_most_of_it_is_used() -> None:
    steps = [calls(call(f"c{n}", "echo", f'{{"text": "{n}"}}')) for n in range(9)]
    b = bench(ScriptedModel(*steps, text("ok")), echo(), turn=Limits(iterations=10))
    await b.session.turn("hi")
    [warning] = b.sink.of(LimitWarning)
    assert (warning.limit, warning.used, warning.of) == ("iterations", 8, 10)


async def test_the_tool_call_budget_refuses_what_is_over_it() -> None:
    wanted = calls(*(call(f"c{n}", "echo", f'{{"text": "{n}"}}') for n in range(5)))
    b = bench(ScriptedModel(wanted, text("So far.")), echo(), turn=Limits(tool_calls=3))
    outcome = await b.session.turn("hi")
    assert outcome.reason == "budget_tool_calls"
    assert len(b.sink.of(ToolStarted)) == 3
    assert [one.reason for one in b.sink.of(IntentRejected)] == ["over_budget"] * 2
    assert violations(b.messages()) == []


async def test_the_token_budget_of_the_session_counts_all_turns() -> None:
    spending = replace(text("ok"), usage=Usage(prompt=60, completion=10))
    model = ScriptedModel(spending, spending, text("That was all."))
    b = bench(model, rules=Rules(session=Limits(tokens=100)))
    assert (await b.session.turn("one")).reason == "final_answer"
    assert (await b.session.turn("two")).reason == "final_answer"
    outcome = await b.session.turn("three")
    assert outcome.reason == "budget_tokens"
    assert "session token limit (100)" in outcome.evidence


async def test_a_cost_budget_that_is_gone_pays_for_no_summary() -> None:
    dear = replace(calls(call("c1", "echo", '{"text": "a"}')), cost_usd=0.6)
    model = ScriptedModel(dear, repeat_last=True)
    b = bench(model, echo(), turn=Limits(cost=1.0))
    outcome = await b.session.turn("hi")
    assert outcome.reason == "budget_cost"
    assert len(model.queries) == 2
    assert "cost limit ($1)" in outcome.answer


async def test_r21_a_cost_limit_that_cannot_be_enforced_is_said_once() -> None:
    model = ScriptedModel(
        calls(call("c1", "echo", '{"text": "a"}')), calls(call("c2", "echo", '{"text": "b"}')), text("ok")
    )
    b = bench(model, echo(), turn=Limits(cost=1.0))
    assert (await b.session.turn("hi")).answer == "ok"
    assert len(b.sink.of(CostUnknown)) == 1
    [ended] = b.sink.of(TurnEnded)
    assert ended.cost_usd is None


async def test_the_time_budget_ends_a_model_call_that_hangs() -> None:
    clock = ManualClock()
    b = bench(_Hanging("Once upon"), turn=Limits(time=5), clock=clock)
    turn = asyncio.create_task(b.session.turn("hi"))
    await b.sink.wait_for(AttemptFailed)
    await clock.advance(5)
    outcome = await turn
    assert (outcome.kind, outcome.reason) == ("degraded", "budget_time")
    assert violations(b.messages()) == []


async def test_an_answer_that_was_cut_off_is_continued() -> None:
    model = ScriptedModel(Reply("Hello wo", (), "length"), text("rld."))
    b = bench(model)
    assert (await b.session.turn("hi")).answer == "Hello world."
    assert b.messages()[-1].text == "Hello world."
    assert isinstance(model.queries[1].messages[-1], UserMessage)
    assert violations(b.messages()) == []


async def test_an_answer_that_cannot_be_continued_ends_degraded() -> None:
    b = bench(ScriptedModel(Reply("more ", (), "length"), repeat_last=True))
    outcome = await b.session.turn("hi")
    assert (outcome.kind, outcome.reason, outcome.answer) == (
        "degraded",
        "output_truncated",
        "more more more ",
    )


async def test_content_filter() -> None:
    b = bench(ScriptedModel(Reply("", (), "content_filter")))
    assert (await b.session.turn("hi")).reason == "content_filtered"


@pytest.mark.parametrize("kind", POLICIES)
async def test_a_failed_model_call_has_its_reason_and_r13_keeps_roles_alternating(kind: FailureKind) -> None:
    model = ScriptedModel(ModelFailure(kind, "it broke"), text("ok"))
    b = bench(model)
    outcome = await b.session.turn("first")
    assert (outcome.kind, outcome.reason) == ("failed", POLICIES[kind].reason)
    assert "it broke" in outcome.evidence
    assert (await b.session.turn("again")).answer == "ok"
    assert model.queries[-1].messages[-1] == UserMessage("first\n\nagain")


async def test_a_tool_that_declares_its_failure_fatal_fails_the_turn() -> None:
    broken = FakeTool("db", lambda _: ToolResult("gone", ok=False, fatal=True))
    model = ScriptedModel(calls(call("c1", "db"), call("c2", "echo", '{"text": "a"}')))
    b = bench(model, broken, echo())
    outcome = await b.session.turn("hi")
    assert (outcome.kind, outcome.reason) == ("failed", "tool_failed")
    assert violations(b.messages()) == []


async def test_r19_an_overflow_is_answered_with_fewer_messages() -> None:
    def size(query: Query) -> int:
        return sum(len(str(message)) for message in query.messages)

    steps: list[Reply] = []
    for n in range(20):
        steps += [calls(call(f"c{n}", "echo", f'{{"text": "{"x" * 500}{n}"}}')), text(f"answer {n} " * 20)]
    overflow = ModelFailure("context_overflow", "too long")
    model = ScriptedModel(*steps, overflow, text("short again"))
    b = bench(model, echo())
    await b.session.start(INFO)
    for n in range(20):
        await b.session.turn(f"question {n}")
    outcome = await b.session.turn("the last question")
    assert outcome.answer == "short again"
    before, after = model.queries[-2], model.queries[-1]
    assert size(after) <= size(before) / 2
    assert after.messages[0] == before.messages[0]
    assert violations(after.messages) == []
    assert isinstance(after.messages[-1], UserMessage)
    assert "the last question" in after.messages[-1].text
    assert len(b.sink.of(ContextShortened)) == 1


async def test_r19_inside_one_long_turn_the_question_stays() -> None:
    steps = [calls(call(f"c{n}", "echo", f'{{"text": "{"y" * 900}{n}"}}')) for n in range(12)]
    model = ScriptedModel(*steps, ModelFailure("context_overflow", "too long"), text("done"))
    b = bench(model, echo())
    assert (await b.session.turn("the question")).answer == "done"
    assert any(
        isinstance(message, UserMessage) and "the question" in message.text
        for message in model.queries[-1].messages
    )
    assert violations(model.queries[-1].messages) == []


async def test_r19_what_cannot_be_shortened_fails() -> None:
    b = bench(ScriptedModel(ModelFailure("context_overflow", "too long"), repeat_last=True))
    assert (await b.session.turn("hi")).reason == "context_overflow"


class _Hanging:
    """Says something, then nothing more. Tells of itself so that a test can wait for it."""

    name = "hanging"

    def __init__(self, said: str) -> None:
        self._said = said
        self.closed = False

    async def stream(self, query: Query) -> AsyncGenerator[ModelItem, None]:
        try:
            yield AttemptFailed(model="hanging", attempt=1, failure="connection", message="first try")
            if self._said:
                yield TextDelta(self._said)
            await asyncio.Event().wait()
        finally:
            self.closed = True

    async def warm(self, query: Query) -> None: ...

    async def close(self) -> None: ...


async def test_r11_an_interrupted_answer_is_kept_with_a_mark() -> None:
    model = _Hanging("part " * 20)
    b = bench(model)
    turn = asyncio.create_task(b.session.turn("hi"))
    await b.sink.wait_for(AttemptFailed)
    await settle()
    assert b.session.interrupt()
    outcome = await turn
    assert (outcome.kind, outcome.reason) == ("cancelled", "interrupted")
    assert model.closed
    assert b.sink.of(ReplyInterrupted)[0].text == "part " * 20
    last = b.messages()[-1]
    assert last.text.count("part ") == 20
    assert "interrupted" in last.text
    b.session.runtime.model = ScriptedModel(text("ok"))
    assert (await b.session.turn("continue")).answer == "ok"
    assert violations(b.messages()) == []


async def test_r09_interrupted_tools_are_answered_as_started_and_unstarted() -> None:
    async def nap(_: object) -> str:
        await asyncio.Event().wait()
        return "rested"

    model = ScriptedModel(
        calls(call("c1", "nap"), call("c2", "nap"), call("c3", "touch"), call("c4", "nap")), text("ok")
    )
    b = bench(model, FakeTool("nap", nap), FakeTool("touch", lambda _: "touched", effect="write"))
    turn = asyncio.create_task(b.session.turn("hi"))
    await b.sink.wait_for(ToolStarted)
    b.session.interrupt()
    assert (await turn).reason == "interrupted"
    answers = b.tool_texts()
    assert all("Started, then interrupted by the user" in answer for answer in answers[:2])
    assert all("Not run" in answer for answer in answers[2:])
    assert (await b.session.turn("hello")).answer == "ok"
    assert violations(model.queries[-1].messages) == []


async def test_cancelling_the_caller_cancels_the_turn_and_records_it() -> None:
    b = bench(_Hanging("x"))
    turn = asyncio.create_task(b.session.turn("hi"))
    await b.sink.wait_for(AttemptFailed)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert b.sink.of(TurnEnded)[0].reason == "interrupted"


async def test_r40_end_chat_lets_its_turn_run_to_its_own_answer() -> None:
    model = ScriptedModel(calls(call("c1", "echo", '{"text": "a"}'), call("c2", "end_chat")), text("bye"))
    b = bench(model, echo(), end_chat())
    outcome = await b.session.turn("goodbye")
    assert (outcome.kind, outcome.reason, outcome.answer) == ("completed", "chat_ended", "bye")
    assert len(b.tool_texts()) == 2
    b.session.runtime.model = ScriptedModel(text("hello again"))
    assert (await b.session.turn("hi")).reason == "final_answer"


async def test_what_the_user_says_meanwhile_reaches_the_next_iteration() -> None:
    model = ScriptedModel(calls(call("c1", "echo", '{"text": "a"}')), text("ok"))
    b = bench(model, echo())
    b.session.steer("in French, please")
    await b.session.turn("hi")
    assert model.queries[0].messages[-1] == UserMessage("hi\n\nin French, please")
