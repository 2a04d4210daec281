"""The one place that retries."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from support.chat_models import JumpingClock, query, retrying, run

from agent_chat.core.errors import POLICIES, FailureKind, ModelFailure
from agent_chat.core.events import AttemptFailed, AttemptStarted, ParameterDropped, RetryWaiting
from agent_chat.core.model import Query, Reply, TextDelta
from agent_chat.core.ports import ModelItem
from agent_chat.models.retry import Retry, RetryPolicy
from agent_chat.models.scripted import ScriptedModel


def failure(kind: FailureKind = "unavailable", *, wait: float | None = None) -> ModelFailure:
    return ModelFailure(kind, f"m: {kind}", status=503, retry_after=wait)


async def test_a_reply_is_passed_on_after_one_attempt() -> None:
    ran = await run(retrying(ScriptedModel(Reply("ok"))))
    assert ran.items == [AttemptStarted(model="scripted", attempt=1), TextDelta("ok"), Reply("ok")]


async def test_every_step_of_a_retry_is_told() -> None:
    ran = await run(retrying(ScriptedModel(failure(), Reply("ok"))))
    assert ran.items[:4] == [
        AttemptStarted(model="scripted", attempt=1),
        AttemptFailed(
            model="scripted", attempt=1, failure="unavailable", message="m: unavailable", status=503
        ),
        RetryWaiting(model="scripted", seconds=0.5, message="m: unavailable"),
        AttemptStarted(model="scripted", attempt=2),
    ]
    assert ran.reply == Reply("ok")


@pytest.mark.parametrize("retries", [0, 1, 3])
async def test_n_retries_are_n_plus_1_attempts(retries: int) -> None:
    model = ScriptedModel(failure(), repeat_last=True)
    ran = await run(retrying(model, retries=retries))
    assert len(model.queries) == retries + 1
    assert len(ran.of(AttemptStarted)) == retries + 1
    assert len(ran.of(AttemptFailed)) == retries + 1
    assert ran.error.kind == "unavailable"


@pytest.mark.parametrize("kind", [kind for kind, policy in POLICIES.items() if not policy.retry])
async def test_r15_what_no_retry_can_cure_is_not_retried(kind: FailureKind) -> None:
    model, clock = ScriptedModel(failure(kind)), JumpingClock()
    ran = await run(retrying(model, clock))
    assert ran.error.kind == kind
    assert len(model.queries) == 1
    assert clock.sleeps == []


async def test_waits_grow_and_end_growing() -> None:
    clock = JumpingClock()
    await run(retrying(ScriptedModel(failure(), repeat_last=True), clock, retries=8))
    assert clock.sleeps == [0.5, 1, 2, 4, 8, 16, 30, 30]


@pytest.mark.parametrize(("jitter", "waits"), [(0.0, [0.5, 1.0, 2.0]), (1.0, [0.75, 1.5, 3.0])])
async def test_jitter_never_makes_a_later_wait_shorter(jitter: float, waits: list[float]) -> None:
    clock = JumpingClock()
    model = Retry(ScriptedModel(failure(), repeat_last=True), RetryPolicy(3), clock, jitter=lambda: jitter)
    await run(model)
    assert clock.sleeps == waits


@pytest.mark.parametrize("jitter", [0.0, 0.5, 1.0])
async def test_r14_the_wait_that_was_asked_for_is_kept(jitter: float) -> None:
    clock = JumpingClock()
    steps = ScriptedModel(failure("rate_limited", wait=2.0), Reply("ok"))
    ran = await run(Retry(steps, RetryPolicy(), clock, jitter=lambda: jitter))
    assert ran.reply.text == "ok"
    assert len(clock.sleeps) == 1
    assert 2.0 <= clock.sleeps[0] <= 4.0
    assert [notice.seconds for notice in ran.of(RetryWaiting)] == clock.sleeps


async def test_r14_an_absurd_wait_is_a_failure_at_once() -> None:
    clock = JumpingClock()
    ran = await run(retrying(ScriptedModel(failure("rate_limited", wait=3600.0)), clock))
    assert ran.error.kind == "rate_limited"
    assert clock.sleeps == []


async def test_r14_a_wait_can_be_interrupted() -> None:
    waiting = asyncio.Event()

    class Patient(JumpingClock):
        async def sleep(self, seconds: float) -> None:
            waiting.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(run(retrying(ScriptedModel(failure("rate_limited", wait=2.0)), Patient())))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_r17_what_was_streamed_before_a_failure_is_marked_as_discarded() -> None:
    class Breaking(ScriptedModel):
        async def stream(self, query: Query) -> AsyncGenerator[ModelItem, None]:
            async for item in super().stream(query):
                yield item
                if len(self.queries) == 1:
                    raise failure("connection")

    ran = await run(retrying(Breaking([TextDelta("Hello wor")], Reply("Hello world."))))
    assert [notice.discarded for notice in ran.of(AttemptFailed)] == [True]
    assert ran.reply.text == "Hello world."


class Choosy(ScriptedModel):
    """Can leave out these parameters."""

    def __init__(self, *steps: ModelFailure | Reply, can_drop: str) -> None:
        super().__init__(*steps)
        self.can_drop = can_drop
        self.dropped: list[str] = []

    def drop(self, parameter: str) -> bool:
        if parameter != self.can_drop or parameter in self.dropped:
            return False
        self.dropped.append(parameter)
        return True


def refused(parameter: str) -> ModelFailure:
    return ModelFailure("unsupported_parameter", f"no {parameter}", parameter=parameter)


async def test_r20_a_refused_parameter_is_dropped_and_the_model_asked_at_once() -> None:
    clock = JumpingClock()
    model = Choosy(refused("temperature"), failure(), Reply("ok"), can_drop="temperature")
    ran = await run(retrying(model, clock, retries=1))
    assert ran.reply.text == "ok"
    assert model.dropped == ["temperature"]
    (notice,) = ran.of(ParameterDropped)
    assert notice.parameter == "temperature"
    assert [start.attempt for start in ran.of(AttemptStarted)] == [1, 2, 3]
    assert clock.sleeps == [0.5], "the drop must not count as a retry"


async def test_r20_a_parameter_that_cannot_be_left_out_is_a_failure() -> None:
    ran = await run(retrying(Choosy(refused("tools"), can_drop="temperature")))
    assert ran.error.kind == "unsupported_parameter"
    ran = await run(retrying(Choosy(refused("seed"), refused("seed"), can_drop="seed")))
    assert ran.error.kind == "unsupported_parameter"


async def test_closing_early_closes_the_attempt() -> None:
    closed = asyncio.Event()

    class Endless(ScriptedModel):
        async def stream(self, query: Query) -> AsyncGenerator[ModelItem, None]:
            try:
                while True:
                    yield TextDelta("x")
            finally:
                closed.set()

    stream = retrying(Endless()).stream(query())
    async for item in stream:
        if isinstance(item, TextDelta):
            break
    await stream.aclose()
    assert closed.is_set()
