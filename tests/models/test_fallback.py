"""Another model where one cannot answer."""

from __future__ import annotations

import pytest
from support.chat_models import JumpingClock, query, run

from agent_chat.core.errors import POLICIES, FailureKind, ModelFailure
from agent_chat.core.events import ModelSwitched
from agent_chat.core.messages import SystemMessage, UserMessage
from agent_chat.core.model import Reply
from agent_chat.models.fallback import Fallback
from agent_chat.models.scripted import ScriptedModel


def failing(kind: FailureKind = "unavailable", *, wait: float | None = None) -> ModelFailure:
    return ModelFailure(kind, f"it is {kind}", retry_after=wait)


async def test_the_first_model_answers_while_it_can() -> None:
    one, two = ScriptedModel(Reply("1"), name="one"), ScriptedModel(name="two")
    ran = await run(Fallback([one, two], JumpingClock()))
    assert ran.reply.text == "1"
    assert ran.of(ModelSwitched) == []


@pytest.mark.parametrize("kind", [kind for kind, policy in POLICIES.items() if policy.fall_back])
async def test_r15_the_next_model_is_asked_and_that_is_told(kind: FailureKind) -> None:
    one, two = ScriptedModel(failing(kind), name="one"), ScriptedModel(Reply("2"), name="two")
    ran = await run(Fallback([one, two], JumpingClock()))
    assert ran.reply.text == "2"
    assert ran.of(ModelSwitched) == [ModelSwitched(from_model="one", to_model="two", message=f"it is {kind}")]


@pytest.mark.parametrize("kind", [kind for kind, policy in POLICIES.items() if not policy.fall_back])
async def test_what_another_model_would_not_answer_either_is_a_failure(kind: FailureKind) -> None:
    ran = await run(Fallback([ScriptedModel(failing(kind)), ScriptedModel()], JumpingClock()))
    assert ran.error.kind == kind


async def test_the_last_failure_is_the_failure() -> None:
    one, two = ScriptedModel(failing("auth"), name="one"), ScriptedModel(failing("quota"), name="two")
    assert (await run(Fallback([one, two], JumpingClock()))).error.kind == "quota"


async def test_a_model_that_failed_is_left_alone_and_then_tried_again() -> None:
    one = ScriptedModel(failing(), Reply("1"), name="one")
    two = ScriptedModel(Reply("2"), Reply("2 again"), name="two")
    clock = JumpingClock()
    model = Fallback([one, two], clock, cooldown=60)
    await run(model)
    again = await run(model)
    assert again.reply.text == "2 again"
    assert again.of(ModelSwitched) == [], "nothing changed since the last query"
    clock.seconds += 60
    back = await run(model)
    assert back.reply.text == "1"
    assert [(notice.from_model, notice.to_model) for notice in back.of(ModelSwitched)] == [("two", "one")]


async def test_a_model_is_left_alone_as_long_as_it_asked_for() -> None:
    one = ScriptedModel(failing("rate_limited", wait=3600), name="one")
    two = ScriptedModel(Reply("2"), repeat_last=True, name="two")
    clock = JumpingClock()
    model = Fallback([one, two], clock, cooldown=60)
    await run(model)
    clock.seconds += 3599
    await run(model)
    assert len(one.queries) == 1


async def test_a_model_that_is_left_alone_is_better_than_none() -> None:
    one = ScriptedModel(failing(), Reply("1"), name="one")
    two = ScriptedModel(Reply("2"), failing(), name="two")
    model = Fallback([one, two], JumpingClock())
    await run(model)
    assert (await run(model)).reply.text == "1"


async def test_a_filtered_answer_says_nothing_about_the_next_query() -> None:
    one = ScriptedModel(failing("content_filtered"), Reply("1"), name="one")
    model = Fallback([one, ScriptedModel(Reply("2"), name="two")], JumpingClock())
    await run(model)
    assert (await run(model)).reply.text == "1"


async def test_a_conversation_that_does_not_fit_goes_to_a_larger_model_and_stays_there() -> None:
    one = ScriptedModel(failing("context_overflow"), Reply("1"), name="one")
    two, large = ScriptedModel(name="two"), ScriptedModel(Reply("L"), repeat_last=True, name="large")
    model = Fallback([one, two], JumpingClock(), larger=[large])
    first = await run(model, query(SystemMessage("s"), UserMessage("u")))
    assert first.reply.text == "L"
    assert [notice.to_model for notice in first.of(ModelSwitched)] == ["large"]
    assert (await run(model, query(SystemMessage("s"), UserMessage("u")))).reply.text == "L"
    assert len(one.queries) == 1, "a conversation that did not fit is not sent there again"
    assert (await run(model, query(UserMessage("u")))).reply.text == "1", "a shorter one is"


async def test_r19_an_overflow_without_a_larger_model_is_left_to_the_caller() -> None:
    model = Fallback([ScriptedModel(failing("context_overflow")), ScriptedModel()], JumpingClock())
    assert (await run(model)).error.kind == "context_overflow"


async def test_all_models_are_closed_once() -> None:
    class Closing(ScriptedModel):
        closed = 0

        async def close(self) -> None:
            self.closed += 1

    one, two = Closing(), Closing()
    await Fallback([one, two], JumpingClock(), larger=[two]).close()
    assert (one.closed, two.closed) == (1, 1)
