"""Real turns on the smallest real model, through the whole engine. The weights are fetched once and kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.process import clean_env, run

from agent_chat import Agent, tool
from agent_chat.core.events import IterationStarted, ModelReplied, ToolFinished
from agent_chat.core.messages import ToolMessage
from agent_chat.local.catalog import CATALOG
from agent_chat.local.download import fetch
from agent_chat.models.local_model import LocalModel

NAME = "local/smollm2-135m"


@pytest.fixture
async def models() -> Path:
    """The folder of the weights."""
    return (await fetch(CATALOG["smollm2-135m"])).parent


@tool(effect="read")
def weather(city: str) -> str:
    """Tells the weather in a city."""
    return f"It rains in {city}."


@pytest.mark.local_model
async def test_a_turn_goes_through_the_loop_to_an_answer_of_the_model(models: Path) -> None:
    """Whether a model this small calls a tool is its own affair; the turn holds either way."""
    async with Agent(LocalModel(NAME), tools=[weather], system="You are kind.") as agent:
        result = await agent.run("What is the weather in Oslo?")
    assert (result.outcome.kind, bool(result.answer.strip())) == ("completed", True)
    events = [entry.event for entry in result.events]
    replies = [event for event in events if isinstance(event, ModelReplied)]
    assert len(replies) == len([event for event in events if isinstance(event, IterationStarted)])
    assert all(reply.usage and reply.usage.prompt and reply.usage.completion for reply in replies)
    assert {reply.cost_usd for reply in replies} == {0.0}
    calls = [call.id for reply in replies for call in reply.calls]
    assert calls == [event.call_id for event in events if isinstance(event, ToolFinished)]
    assert calls == [message.call_id for message in result.messages if isinstance(message, ToolMessage)]
    assert result.messages[-1].text == result.answer


@pytest.mark.local_model
def test_the_command_answers_with_it(models: Path, home: Path, workspace: Path) -> None:
    env = clean_env(home, AGENT_CHAT_MODELS_DIR=str(models))
    arguments = ["-m", NAME, "--no-tools", "--no-session", "Say hello."]
    done = run(["agent-single", *arguments], env=env, cwd=workspace, timeout=120)
    assert done.code == 0, done.err
    assert done.out.strip()
