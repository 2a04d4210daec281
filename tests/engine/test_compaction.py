"""Room is made in the context window in time, and nothing that goes wrong with it costs the run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from support.engine import INFO, Bench, FakeTool, bench, call, echo, settle, violations

from agent_chat.core.errors import ModelFailure
from agent_chat.core.events import (
    CompactionFailed,
    CompactionStarted,
    ContextCompacted,
    ContextShortened,
    ContextThinned,
    Event,
    JobReplied,
    Notice,
    SessionTitled,
    ToolFinished,
    TurnEnded,
    TurnPinned,
)
from agent_chat.core.messages import Message, SystemMessage, ToolMessage, UserMessage
from agent_chat.core.model import Query, Reply, Usage
from agent_chat.core.ports import ChatModel, Compact, Leave, ModelItem, UserInput
from agent_chat.core.projection import project
from agent_chat.core.tokens import estimate_message
from agent_chat.engine.compaction import undo_compaction
from agent_chat.engine.runtime import ContextRules, Rules
from agent_chat.models.scripted import ScriptedModel, calls, text

SUMMARY = "## Goal\nThe user counts sheep."


def tokens(query: Query) -> int:
    return sum(map(estimate_message, query.messages))


def is_summary(query: Query) -> bool:
    last = query.messages[-1]
    return isinstance(last, UserMessage) and "## Open points" in last.text


class Counting:
    """Answers with a count of what it was asked, as a provider would. Writes a summary when told to."""

    def __init__(
        self,
        answer: Callable[[Query], Reply] = lambda _: Reply("fine"),
        summary: str | ModelFailure = SUMMARY,
        name: str = "main",
    ) -> None:
        self.name = name
        self.queries: list[Query] = []
        self.summaries: list[Query] = []
        self._answer = answer
        self._summary = summary

    async def stream(self, query: Query) -> AsyncGenerator[ModelItem, None]:
        if is_summary(query) or any(
            isinstance(one, SystemMessage) and "## Goal" in one.text for one in query.messages
        ):
            self.summaries.append(query)
            if isinstance(self._summary, ModelFailure):
                raise self._summary
            reply = Reply(self._summary)
        else:
            self.queries.append(query)
            reply = self._answer(query)
        yield Reply(reply.text, reply.calls, reply.finish_reason, self.name, Usage(tokens(query), 0, 5), 0.01)

    async def warm(self, query: Query) -> None: ...

    async def close(self) -> None: ...


def session(model: ChatModel, *tools: FakeTool, window: int = 8_000, **context: int) -> Bench:
    return bench(model, *tools, rules=Rules(context=ContextRules(window=window, **context)))


async def talk(b: Bench, turns: int, length: int = 2_000) -> None:
    await b.session.start(INFO)
    for number in range(1, turns + 1):
        await b.session.turn(f"message {number} " + "x" * length)


def all_text(messages: tuple[Message, ...]) -> str:
    return "\n".join(message.text for message in messages)


async def test_at_a_share_of_the_window_a_summary_takes_the_place_of_the_older_messages() -> None:
    model = Counting()
    b = session(model)
    await talk(b, 14)
    [started], [done] = b.sink.of(CompactionStarted), b.sink.of(ContextCompacted)
    assert (started.reason, started.model, started.window) == ("full", "main", 8_000)
    assert started.tokens >= 0.8 * 8_000
    assert done.summary == SUMMARY
    assert done.tokens < done.tokens_before / 2
    last = model.queries[-1].messages
    assert all(tokens(query) < 8_000 for query in model.queries)
    assert last[0] == SystemMessage("You help.")
    assert SUMMARY in last[1].text
    assert "message 1 " in last[1].text, "the first user message is kept"
    assert "message 5 " not in all_text(last)
    assert "message 13 " in all_text(last)
    assert violations(last) == []
    assert [end.reason for end in b.sink.of(TurnEnded)] == ["final_answer"] * 14


async def test_it_is_announced_before_and_counted_after() -> None:
    b = session(Counting())
    await talk(b, 14)
    types = b.sink.types()
    start = types.index("compaction_started")
    assert types[start : start + 3] == ["compaction_started", "job_replied", "context_compacted"]
    [job] = b.sink.of(JobReplied)
    state = b.session.runtime.journal.state
    assert job.cost_usd == 0.01
    assert round(state.session_spent.cost, 2) == 0.15
    ends = b.sink.of(TurnEnded)
    assert sum(end.usage.total for end in ends) == state.session_spent.usage.total


async def test_the_main_model_is_asked_with_the_prefix_that_its_provider_has() -> None:
    model = Counting()
    b = session(model, echo())
    await talk(b, 14)
    [asked] = model.summaries
    before = next(query for query in model.queries if len(query.messages) == len(asked.messages) - 2)
    assert asked.messages[:-2] == before.messages
    assert asked.tools == before.tools
    assert asked.tool_choice == "none"
    assert "begins with the words: message 1 " in asked.messages[-1].text, "not with a model's examples"
    assert violations(asked.messages) == []


async def test_the_small_model_writes_it_where_there_is_one() -> None:
    main, small = Counting(), Counting(name="small")
    b = session(main)
    b.session.runtime.small = small
    await talk(b, 14)
    assert (len(main.summaries), len(small.summaries)) == (0, 1)
    [query] = small.summaries
    assert query.tools == ()
    assert "message 2 " in query.messages[-1].text
    assert b.sink.of(CompactionStarted)[0].model == "small"


async def test_what_the_small_model_cannot_do_the_main_model_does() -> None:
    main, small = Counting(), Counting(summary=ModelFailure("unavailable", "gone"), name="small")
    b = session(main)
    b.session.runtime.small = small
    await talk(b, 14)
    assert (len(main.summaries), len(small.summaries)) == (1, 1)
    assert len(b.sink.of(ContextCompacted)) == 1


async def test_a_conversation_that_does_not_fit_the_small_model_goes_to_the_main_one() -> None:
    main, small = Counting(), Counting(name="small")
    b = session(main)
    b.session.runtime.small = small
    b.session.runtime.window_of = lambda name: 4_000 if name == "small" else None
    await talk(b, 14)
    assert (len(main.summaries), len(small.summaries)) == (1, 0)


async def test_a_summary_that_fails_costs_nothing_but_the_try() -> None:
    model = Counting(summary=ModelFailure("unavailable", "The server is down."))
    b = session(model)
    await talk(b, 15)
    assert [end.reason for end in b.sink.of(TurnEnded)] == ["final_answer"] * 15
    failed = b.sink.of(CompactionFailed)
    assert failed[0].message == "The server is down."
    assert 2 <= len(failed) <= 4, "tried again now and then, not at every iteration"
    assert b.sink.of(ContextCompacted) == []


async def test_at_the_brim_the_messages_are_shortened_where_there_is_no_summary() -> None:
    model = Counting(summary=ModelFailure("unavailable", "down"))
    b = session(model)
    await talk(b, 40)
    assert b.sink.of(ContextShortened)
    assert all(tokens(query) < 8_000 for query in model.queries)
    assert {end.reason for end in b.sink.of(TurnEnded)} == {"final_answer"}
    assert all(violations(query.messages) == [] for query in model.queries)


async def test_a_summary_without_words_is_none() -> None:
    b = session(Counting(summary="  "))
    await talk(b, 14)
    assert b.sink.of(CompactionFailed)
    assert len(b.sink.of(JobReplied)) == len(b.sink.of(CompactionFailed)), "it was paid for"


async def test_inside_a_long_turn_the_question_and_the_last_iterations_stay() -> None:
    def work(query: Query) -> Reply:
        done = sum(isinstance(message, ToolMessage) for message in query.messages)
        n = len(model.queries)
        assert done < 30
        return text("done") if n > 40 else calls(call(f"c{n}", "echo", f'{{"text": "{n} {"y" * 900}"}}'))

    model = Counting(work)
    b = session(model, echo(), window=6_000, thin_at=2)
    await b.session.start(INFO)
    outcome = await b.session.turn("the question")
    assert outcome.reason == "final_answer"
    assert len(b.sink.of(ContextCompacted)) >= 3
    for query in model.queries:
        assert violations(query.messages) == []
        assert "the question" in all_text(query.messages[:2])
        assert all_text(query.messages).count("the question") <= 2, (
            "as the task, and as what is being answered"
        )
        assert tokens(query) < 6_000


async def test_old_tool_results_are_cut_in_steps_and_can_be_read_on() -> None:
    def work(query: Query) -> Reply:
        n = len(model.queries)
        return text("done") if n > 24 else calls(call(f"c{n}", "read", f'{{"n": {n}}}'))

    read = FakeTool("read", lambda a: f"file {a['n']} " + "z" * 3_000 + f" end {a['n']}")
    model = Counting(work)
    b = session(model, read, window=20_000, keep_iterations=5)
    await b.session.start(INFO)
    assert (await b.session.turn("read them all")).reason == "final_answer"
    steps = b.sink.of(ContextThinned)
    assert 1 <= len(steps) <= 4
    assert b.sink.of(ContextCompacted) == []
    results = [message for message in model.queries[-1].messages if isinstance(message, ToolMessage)]
    cut = [message for message in results if message.stored]
    assert len(cut) == sum(len(step.results) for step in steps)
    assert all(not message.stored for message in results[-5:])
    for message in cut:
        assert len(message.text) < 1_200
        assert message.text.startswith("file ")
        assert f'read_result(id="{message.stored}")' in message.text
        whole = b.results.get(message.stored or "")
        assert whole is not None
        assert "z" * 3_000 in whole
    changes = sum(
        one.messages[: len(other.messages)] != other.messages[: len(one.messages)]
        for one, other in zip(model.queries[1:], model.queries, strict=False)
    )
    assert changes == len(steps), "between two steps messages are only added"


async def test_a_result_that_was_kept_already_is_not_kept_again() -> None:
    def work(query: Query) -> Reply:
        n = len(model.queries)
        return text("done") if n > 24 else calls(call(f"c{n}", "read", f'{{"n": {n}}}'))

    model = Counting(work)
    read = FakeTool("read", lambda a: f"{a['n']}" + "z" * 9_000)
    rules = Rules(result_limit=3_000, context=ContextRules(window=20_000, keep_iterations=5))
    b = bench(model, read, rules=rules)
    await b.session.start(INFO)
    await b.session.turn("read")
    kept = {event.stored for event in b.sink.of(ToolFinished)}
    assert b.sink.of(ContextThinned)
    assert {result.stored for step in b.sink.of(ContextThinned) for result in step.results} <= kept


async def test_nothing_is_done_where_the_window_is_unknown() -> None:
    model = Counting()
    b = bench(model)
    await talk(b, 20)
    assert b.sink.of(CompactionStarted) == []


class Lines:
    def __init__(self, *items: UserInput | Compact) -> None:
        self._items = list(items)

    async def next(self) -> UserInput | Compact | Leave:
        return self._items.pop(0) if self._items else Leave("eof")


async def test_the_user_asks_for_it_and_says_what_matters() -> None:
    model = Counting()
    b = bench(model)
    await b.session.start(INFO)
    says = [UserInput(f"say {n}") for n in range(5)]
    await b.session.run(Lines(*says, Compact("the sheep"), UserInput("go on")))
    [started] = b.sink.of(CompactionStarted)
    assert (started.reason, started.focus, started.window) == ("asked", "the sheep", None)
    assert "the sheep" in model.summaries[0].messages[-1].text
    last = model.queries[-1].messages
    assert SUMMARY in last[1].text
    assert [m.text for m in last if isinstance(m, UserMessage)][1:] == ["say 4", "go on"]
    assert violations(last) == []


async def test_a_single_turn_can_be_summarized_too_but_not_nothing() -> None:
    model = Counting()
    b = bench(model)
    await b.session.start(INFO)
    await b.session.run(Lines(Compact(), UserInput("say"), Compact(), UserInput("go on")))
    assert [notice.message for notice in b.sink.of(Notice)] == ["There is nothing to summarize yet."]
    last = model.queries[-1].messages
    assert len(last) == 2
    assert last[1].text.endswith("go on")
    assert violations(last) == []


async def test_undoing_it_shows_everything_again_also_what_came_since() -> None:
    model = Counting()
    b = session(model)
    await talk(b, 14)
    compacted = len(b.messages())
    event = undo_compaction(b.session.runtime)
    assert event is not None
    await b.session.runtime.journal.record(event)
    assert len(b.messages()) == 29 > compacted
    assert SUMMARY not in all_text(b.messages())
    assert all(f"message {n} " in all_text(b.messages()) for n in range(1, 15))
    assert undo_compaction(b.session.runtime) is None
    await b.session.turn("one more")
    assert len(b.sink.of(ContextCompacted)) == 1, "it is not done again unasked"
    assert violations(b.messages()) == []
    assert project(entry.event for entry in b.sink.entries) == b.messages()


async def test_pinned_texts_outlast_every_compaction() -> None:
    model = Counting()
    b = session(model)
    await b.session.start(INFO)
    await b.session.turn("The task. " + "x" * 1_000)
    await b.session.turn("The port is 8443. " + "x" * 1_000)
    await b.session.runtime.journal.record(TurnPinned(text="The port is 8443."))
    for n in range(40):
        await b.session.turn(f"more {n} " + "x" * 2_000)
    done = b.sink.of(ContextCompacted)
    assert len(done) >= 3
    for event in done:
        assert event.pinned[1:] == ("The port is 8443.",)
        assert event.pinned[0].startswith("The task. ")


async def test_an_interrupt_stops_it_and_the_messages_stay() -> None:
    class Hanging(Counting):
        async def stream(self, query: Query) -> AsyncGenerator[ModelItem, None]:
            if is_summary(query):
                await asyncio.Event().wait()
            async for item in Counting.stream(self, query):
                yield item

    b = bench(Hanging())
    await talk(b, 4, 10)
    before = b.messages()
    running = asyncio.create_task(b.session.compact())
    await b.sink.wait_for(CompactionStarted)
    await settle()
    assert b.session.interrupt()
    await running
    assert b.messages() == before
    assert [event.message for event in b.sink.of(CompactionFailed)] == ["It was interrupted."]
    assert (await b.session.turn("go on")).answer == "fine"


async def test_the_log_alone_gives_the_same_messages_at_every_event() -> None:
    seen: list[tuple[Message, ...]] = []
    model = Counting(lambda q: seen.append(q.messages) or Reply("fine"))
    b = session(model)
    await talk(b, 40)
    events: list[Event] = [entry.event for entry in b.sink.entries]
    assert len(b.sink.of(ContextCompacted)) >= 3
    assert project(events) == b.messages()
    for cut in range(0, len(events), 7):
        assert violations(project(events[:cut])) == []


async def test_a_session_gets_its_title_from_the_small_model_and_nobody_waits() -> None:
    small = ScriptedModel(text('"Counting sheep at night."\n'), name="small")
    b = bench(Counting())
    b.session.runtime.small = small

    class Waiting:
        def __init__(self) -> None:
            self.lines = ["count sheep", "more"]

        async def next(self) -> UserInput | Leave:
            await settle()
            return UserInput(self.lines.pop(0)) if self.lines else Leave("eof")

    await b.session.start(INFO)
    await b.session.run(Waiting())
    assert [event.title for event in b.sink.of(SessionTitled)] == ["Counting sheep at night"]
    assert "count sheep" in small.queries[0].messages[-1].text
    assert len(small.queries) == 1


async def test_a_title_that_takes_long_is_left_behind() -> None:
    class Never(Counting):
        async def stream(self, query: Query) -> AsyncGenerator[ModelItem, None]:
            await asyncio.Event().wait()
            yield Reply("")

    b = bench(Counting())
    b.session.runtime.small = Never(name="small")
    await b.session.start(INFO)
    await asyncio.wait_for(b.session.run(Lines(UserInput("a"), UserInput("b"))), 5)
    assert b.sink.of(SessionTitled) == []
    assert b.sink.types()[-1] == "session_ended"
