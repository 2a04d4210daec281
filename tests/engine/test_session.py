"""The outer loop: turn by turn until somebody leaves; taken up again from the log alone."""

from __future__ import annotations

import asyncio

from support.engine import INFO, FakeTool, Inputs, bench, call, echo, end_chat, violations

from agent_chat.core.errors import ModelFailure
from agent_chat.core.events import Entry, SessionEnded, ToolStarted, TurnEnded
from agent_chat.core.messages import SystemMessage, ToolMessage, UserMessage
from agent_chat.models.scripted import ScriptedModel, calls, text


async def test_turn_after_turn_until_the_input_ends() -> None:
    b = bench(ScriptedModel(text("one"), text("two")))
    await b.session.start(INFO)
    assert await b.session.run(Inputs("a", "b")) == "eof"
    assert [ended.answer for ended in b.sink.of(TurnEnded)] == ["one", "two"]
    assert b.sink.of(SessionEnded)[0].reason == "eof"


async def test_a_turn_that_fails_does_not_end_the_session() -> None:
    b = bench(ScriptedModel(ModelFailure("auth", "no key"), text("ok")))
    assert await b.session.run(Inputs("a", "b")) == "eof"
    assert [ended.kind for ended in b.sink.of(TurnEnded)] == ["failed", "completed"]


async def test_r40_end_chat_ends_the_session_after_its_turn_and_the_next_line_is_not_read() -> None:
    b = bench(ScriptedModel(calls(call("c1", "end_chat")), text("bye")), end_chat())
    inputs = Inputs("goodbye", "still there?")
    assert await b.session.run(inputs) == "end_chat"
    assert inputs.left == ["still there?"]


async def test_the_system_prompt_comes_first_and_every_query_begins_like_the_one_before() -> None:
    model = ScriptedModel(calls(call("c1", "echo", '{"text": "a"}')), text("ok"), text("fine"))
    b = bench(model, echo())
    await b.session.start(INFO)
    await b.session.run(Inputs("a", "b"))
    first, second, third = (query.messages for query in model.queries)
    assert first[0] == SystemMessage("You help.")
    assert second[: len(first)] == first
    assert third[: len(second)] == second


async def test_a_session_is_taken_up_where_its_log_ends() -> None:
    first = bench(ScriptedModel(calls(call("c1", "echo", '{"text": "a"}')), text("ok")), echo())
    await first.session.start(INFO)
    await first.session.turn("hi")
    model = ScriptedModel(text("yes"))
    second = bench(model, echo())
    await second.session.resume(first.sink.entries, "1")
    await second.session.turn("still there?")
    assert model.queries[0].messages[: len(first.messages())] == first.messages()
    state = second.session.runtime.journal.state
    assert (state.turn, state.session_spent.iterations) == (2, 3)
    assert second.sink.entries[0].seq == first.sink.entries[-1].seq + 1


async def test_after_a_crash_a_started_call_has_an_unknown_outcome_and_is_not_run_again() -> None:
    async def forever(_: object) -> str:
        await asyncio.Event().wait()
        return ""

    crashed = bench(
        ScriptedModel(calls(call("c1", "write"), call("c2", "write"))),
        FakeTool("write", forever, effect="write"),
    )
    await crashed.session.start(INFO)
    turn = asyncio.create_task(crashed.session.turn("do it"))
    await crashed.sink.wait_for(ToolStarted)
    log: list[Entry] = list(crashed.sink.entries)
    turn.cancel()
    await asyncio.wait([turn])

    again = FakeTool("write", lambda _: "written", effect="write")
    model = ScriptedModel(text("ok"))
    b = bench(model, again)
    await b.session.resume(log, "1")
    await b.session.turn("go on")
    answers = [one for one in model.queries[0].messages if isinstance(one, ToolMessage)]
    assert "Unknown outcome" in answers[0].text
    assert "Not run" in answers[1].text
    assert again.contexts == []
    assert violations(model.queries[0].messages) == []


async def test_every_cut_of_a_log_gives_a_valid_history() -> None:
    wanted = calls(call("c1", "echo", '{"text": "a"}'), call("c2", "nope"), content="let me see")
    whole = bench(ScriptedModel(wanted, text("ok"), ModelFailure("auth", "x"), text("fine")), echo())
    await whole.session.start(INFO)
    for line in ("one", "two", "three"):
        await whole.session.turn(line)
    for cut in range(1, len(whole.sink.entries) + 1):
        model = ScriptedModel(text("ok"))
        b = bench(model, echo())
        await b.session.resume(whole.sink.entries[:cut], "1")
        await b.session.turn("again")
        assert violations(model.queries[0].messages) == [], cut
        assert isinstance(model.queries[0].messages[-1], UserMessage)


async def test_nothing_is_interrupted_where_nothing_runs() -> None:
    b = bench(ScriptedModel(text("ok")))
    assert not b.session.interrupt()
    assert (await b.session.turn("hi")).answer == "ok"
