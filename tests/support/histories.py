"""Random histories of sessions: every kind of reply, failure, tool and answer, interrupts and limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

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
from agent_chat.core.events import Entry, Rewound
from agent_chat.core.messages import ToolCall
from agent_chat.core.model import FinishReason, Query, Reply, TextDelta, Usage
from agent_chat.core.observation import ToolResult
from agent_chat.core.permissions import ALL_EFFECTS, AllowEffects
from agent_chat.core.ports import ModelItem
from agent_chat.engine.runtime import Rules
from agent_chat.models.fallback import Fallback
from agent_chat.models.retry import Retry, RetryPolicy
from support.engine import INFO, FakeTool, ManualClock, bench, echo, end_chat, violations

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


def tools(written: list[str] | None = None) -> tuple[FakeTool, ...]:
    """`written` is told of every run of the tool that writes."""

    async def forever(_: object) -> str:
        await asyncio.Event().wait()
        return ""

    tried: list[None] = []

    def flaky(_: object) -> ToolResult | str:
        tried.append(None)
        return ToolResult("try again " * 100, ok=False, retryable=True) if len(tried) % 3 else "at last"

    def write(given: Mapping[str, Any]) -> str:
        text = str(given.get("text", ""))
        if written is not None:
            written.append(text)
        return text * 3_000

    return (
        echo(),
        FakeTool("write", write, effect="write"),
        FakeTool("fail", lambda _: ToolResult("no", ok=False)),
        FakeTool("hang", forever, timeout=None),
        FakeTool("flaky", flaky, retries=1, on_failure="retry"),
        FakeTool("slow", forever, timeout=2),
        FakeTool("fatal", lambda _: ToolResult("broken", ok=False), on_failure="fail"),
        end_chat(),
    )


async def play(
    turns: Sequence[Sequence[Step]], turn: Limits, *, asks: bool, written: list[str] | None = None
) -> list[Entry]:
    """The log of a session with these turns."""
    clock = ManualClock(instant=False)
    first, second = Attempts("first"), Attempts("second")
    policy = RetryPolicy(retries=1)
    model = Fallback(
        [Retry(first, policy, clock, lambda: 0.0), Retry(second, policy, clock, lambda: 0.0)], clock
    )
    b = bench(
        model,
        *tools(written),
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
        state = b.session.runtime.journal.state
        if len(steps) % 4 == 3 and state.turns:
            b.session.record_soon(Rewound(to_turn=state.turns[-1].number, turns=1))
    await b.session.end("eof")
    assert violations(b.messages()) == []
    return b.sink.entries
