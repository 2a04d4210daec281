"""Whatever happened in whatever order: it happens again from the log alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from support.engine import INFO, Box, FakeTool, ManualClock, bench, echo, end_chat

from agent_chat.core.approval import (
    Approval,
    ApprovalRequest,
    Approved,
    Denied,
    NeedsPerson,
    Preview,
    Revise,
    Verdict,
)
from agent_chat.core.budget import Limits
from agent_chat.core.errors import POLICIES, FailureKind, ModelFailure
from agent_chat.core.events import Entry
from agent_chat.core.messages import ToolCall
from agent_chat.core.model import FinishReason, Query, Reply, TextDelta, Usage
from agent_chat.core.observation import ToolResult
from agent_chat.core.permissions import ALL_EFFECTS, AllowEffects
from agent_chat.core.ports import ModelItem
from agent_chat.engine.replay.run import Replay
from agent_chat.engine.runtime import Rules
from agent_chat.models.fallback import Fallback
from agent_chat.models.retry import Retry, RetryPolicy

HANG = "hang"
Step = Reply | ModelFailure | str
arguments = st.sampled_from(['{"text": "a"}', "{}", "", "[1]", "{cut", '{"text": "b"}', '{"text": "long"}'])
names = st.sampled_from(
    ["echo", "write", "fail", "hang", "flaky", "slow", "fatal", "end_chat", "nope", "hidden"]
)
wanted = st.lists(st.tuples(names, arguments), max_size=4)
finishes: st.SearchStrategy[FinishReason] = st.sampled_from(
    ("stop", "tool_calls", "length", "content_filter", "unknown")
)


def reply(text: str, calls: list[tuple[str, str]], finish: FinishReason) -> Reply:
    made = tuple(ToolCall(f"c{index}", name, given) for index, (name, given) in enumerate(calls))
    return Reply(text, made, finish, usage=Usage(prompt=5, completion=2), cost_usd=0.25)


def failure(kind: FailureKind) -> ModelFailure:
    return ModelFailure(kind, f"it failed: {kind}")


replies = st.builds(reply, st.sampled_from(["", "some text", "\n"]), wanted, finishes)
failures = st.sampled_from(list(POLICIES)).map(failure)
steps = st.lists(st.one_of(replies, replies, replies, failures, st.just(HANG)), max_size=8)
turns = st.lists(steps, min_size=1, max_size=4)
limits = st.sampled_from(
    [
        Limits(),
        Limits(iterations=2),
        Limits(tool_calls=2),
        Limits(tokens=20),
        Limits(cost=0.6),
        Limits(time=5),
    ]
)


class Attempts:
    """Gives the steps of the turn, then answers whatever else is asked; hangs where told to."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.steps: list[Step] = []

    async def stream(self, query: Query) -> AsyncGenerator[ModelItem, None]:
        step = self.steps.pop(0) if self.steps else Reply("enough", cost_usd=0.0)
        match step:
            case ModelFailure():
                raise step
            case Reply():
                yield TextDelta(step.text)
                yield step
            case str():
                yield TextDelta("begun ")
                await asyncio.Event().wait()

    def drop(self, parameter: str) -> bool:
        return False

    async def warm(self, query: Query) -> None: ...

    async def close(self) -> None: ...


class Person:
    """Approves of what writes in turns: yes, no, with other arguments."""

    def __init__(self) -> None:
        self.asked = 0

    def judge(self, request: ApprovalRequest) -> Verdict:
        return AllowEffects({"read"}).judge(request)

    async def ask(
        self, request: ApprovalRequest, preview: Preview | None, verdict: NeedsPerson, revise: Revise
    ) -> Approval:
        self.asked += 1
        match self.asked % 3:
            case 0:
                return Denied("not that")
            case 1:
                return Approved()
            case _:
                return Approved("session", {"text": "changed"})


def tools() -> tuple[FakeTool, ...]:
    async def forever(_: object) -> str:
        await asyncio.Event().wait()
        return ""

    tried: list[None] = []

    def flaky(_: object) -> ToolResult | str:
        tried.append(None)
        return ToolResult("try again " * 100, ok=False, retryable=True) if len(tried) % 3 else "at last"

    return (
        echo(),
        FakeTool("write", lambda given: str(given.get("text", "")) * 3_000, effect="write"),
        FakeTool("fail", lambda _: ToolResult("no", ok=False)),
        FakeTool("hang", forever, timeout=None),
        FakeTool("flaky", flaky, retries=1, on_failure="retry"),
        FakeTool("slow", forever, timeout=2),
        FakeTool("fatal", lambda _: ToolResult("broken", ok=False), on_failure="fail"),
        end_chat(),
    )


async def record(turns: Sequence[Sequence[Step]], turn: Limits, *, asks: bool) -> list[Entry]:
    clock = ManualClock(instant=False)
    first, second = Attempts("first"), Attempts("second")
    policy = RetryPolicy(retries=1)
    model = Fallback(
        [Retry(first, policy, clock, lambda: 0.0), Retry(second, policy, clock, lambda: 0.0)], clock
    )
    b = bench(
        model,
        *tools(),
        clock=clock,
        rules=Rules(turn=turn, max_invalid=2, max_repeats=2, result_limit=600),
        approver=Person() if asks else AllowEffects(ALL_EFFECTS),
        hidden=("hidden",),
    )
    await b.session.start(INFO)
    for steps in turns:
        first.steps, second.steps = list(steps), []
        running = asyncio.create_task(b.session.turn("do something"))
        for round_ in range(60):
            await clock.advance(1)
            if running.done():
                break
            if round_ == 3:
                b.session.steer("and this")
        else:
            b.session.interrupt("interrupted" if len(steps) % 2 else "terminated")
        await running
    return b.sink.entries


async def again(entries: Sequence[Entry], *, known: bool) -> None:
    replay = Replay(entries, toolbox=Box(tools(), ("hidden",)) if known else None, clock=ManualClock())
    replayed = [turn async for turn in replay.turns()]
    assert [str(turn.difference or turn.problem) for turn in replayed if not turn.is_same] == []
    assert [turn.number for turn in replayed] == list(replay.numbers)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(turns, limits, st.booleans(), st.booleans())
def test_any_history_happens_again(turns: list[list[Step]], turn: Limits, asks: bool, known: bool) -> None:
    async def play() -> None:
        entries = await record(turns, turn, asks=asks)
        await again(entries, known=known)

    asyncio.run(play())


@settings(max_examples=60, deadline=None, derandomize=True)
@given(turns, st.data())
def test_a_history_that_a_crash_cut_off_happens_again_as_far_as_it_goes(
    turns: list[list[Step]], data: st.DataObject
) -> None:
    async def play() -> None:
        entries = await record(turns, Limits(), asks=True)
        cut = data.draw(st.integers(1, len(entries)))
        replay = Replay(entries[:cut], clock=ManualClock())
        replayed = [turn async for turn in replay.turns()]
        assert [str(turn.difference) for turn in replayed if turn.difference] == []
        assert all(turn.ended for turn in replayed[:-1])
        assert sum(turn.entries for turn in replayed if not turn.problem) <= cut

    asyncio.run(play())
