"""Whatever happens in whatever order: the messages are valid at every event, and nothing runs twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from hypothesis import given, settings
from hypothesis import strategies as st
from support.engine import INFO, FakeTool, ManualClock, bench, echo, end_chat, violations

from agent_chat.core.errors import POLICIES, FailureKind, ModelFailure
from agent_chat.core.events import ToolStarted
from agent_chat.core.messages import ToolCall
from agent_chat.core.model import FinishReason, Query, Reply, TextDelta, Usage
from agent_chat.core.observation import ToolResult
from agent_chat.core.ports import ModelItem
from agent_chat.core.projection import project
from agent_chat.engine.runtime import Rules

HANG = "hang"
arguments = st.sampled_from(['{"text": "a"}', "{}", "", "[1]", "{cut", '{"text": "b"}'])
names = st.sampled_from(["echo", "write", "fail", "hang", "end_chat", "nope"])
wanted = st.lists(st.tuples(names, arguments), max_size=4)


def reply(text: str, calls: list[tuple[str, str]], finish: FinishReason) -> Reply:
    made = tuple(ToolCall(f"c{index}", name, given) for index, (name, given) in enumerate(calls))
    return Reply(text, made, finish, usage=Usage(prompt=5, completion=2))


def failure(kind: FailureKind) -> ModelFailure:
    return ModelFailure(kind, "it failed")


finishes: st.SearchStrategy[FinishReason] = st.sampled_from(
    ("stop", "tool_calls", "length", "content_filter", "unknown")
)
replies = st.builds(reply, st.sampled_from(["", "some text", "\n"]), wanted, finishes)
failures = st.sampled_from(list(POLICIES)).map(failure)
steps = st.lists(st.one_of(replies, replies, replies, failures, st.just(HANG)), max_size=8)
turns = st.lists(steps, min_size=1, max_size=4)


class Improvising:
    """Gives the steps of the turn, then answers whatever else is asked; hangs where told to."""

    name = "improvising"

    def __init__(self) -> None:
        self.steps: list[Reply | ModelFailure | str] = []
        self.queries: list[Query] = []

    async def stream(self, query: Query) -> AsyncGenerator[ModelItem, None]:
        self.queries.append(query)
        step = self.steps.pop(0) if self.steps else Reply("enough")
        match step:
            case ModelFailure():
                raise step
            case Reply():
                yield TextDelta(step.text)
                yield step
            case str():
                yield TextDelta("begun ")
                await asyncio.Event().wait()

    async def warm(self, query: Query) -> None: ...

    async def close(self) -> None: ...


async def play(turns: list[list[Reply | ModelFailure | str]]) -> None:
    async def forever(_: object) -> str:
        await asyncio.Event().wait()
        return ""

    runs: list[str] = []
    tools = (
        echo(),
        FakeTool("write", lambda _: runs.append("x") or "written", effect="write"),
        FakeTool("fail", lambda _: ToolResult("no", ok=False)),
        FakeTool("hang", forever, timeout=None),
        end_chat(),
    )
    model = Improvising()
    b = bench(model, *tools, clock=ManualClock(instant=True), rules=Rules(max_invalid=2, max_repeats=2))
    await b.session.start(INFO)
    for steps in turns:
        model.steps = list(steps)
        turn = asyncio.create_task(b.session.turn("do something"))
        for _ in range(400):
            await asyncio.sleep(0)
            if turn.done():
                break
        else:
            b.session.interrupt()
        outcome = await turn
        assert outcome.kind != "completed" or outcome.answer
        assert violations(b.messages()) == []
    assert all(violations(query.messages) == [] for query in model.queries)
    events = [entry.event for entry in b.sink.entries]
    for cut in range(1, len(events) + 1):
        assert violations(project(events[:cut])) == [], b.sink.types()[:cut]
    writes = [event for event in events if isinstance(event, ToolStarted) and event.name == "write"]
    assert len(runs) == len(writes)
    assert len({event.idempotency_key for event in writes}) == len(writes)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(turns)
def test_any_history_is_valid_at_every_event(turns: list[list[Reply | ModelFailure | str]]) -> None:
    asyncio.run(play(turns))
