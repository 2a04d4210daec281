"""Real turns on the smallest real model, through the whole engine. The weights are fetched once and kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.process import clean_env, run

from agent_chat import Agent, tool
from agent_chat.core.events import IterationStarted, ModelReplied, ToolFinished
from agent_chat.core.messages import AssistantMessage, ToolMessage
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
async def test_a_turn_calls_a_tool_and_answers_from_its_result(models: Path) -> None:
    form = '{"name": "weather", "arguments": {"city": "%s"}}'
    # A model this small calls reliably only what it is told word for word.
    system = f"For the weather you write {form % 'Rome'}, with the city of the user in it."
    async with Agent(LocalModel(NAME), tools=[weather], system=system) as agent:
        result = await agent.run(f"Write {form % 'Oslo'}")
    assert result.outcome.reason == "final_answer"
    events = [entry.event for entry in result.events]
    assert len([event for event in events if isinstance(event, IterationStarted)]) == 2
    [finished] = [event for event in events if isinstance(event, ToolFinished)]
    assert (finished.name, finished.ok, finished.content) == ("weather", True, "It rains in Oslo.")
    asked, answered = [message for message in result.messages if isinstance(message, AssistantMessage)]
    assert [call.id for call in asked.calls] == [
        message.call_id for message in result.messages if isinstance(message, ToolMessage)
    ]
    assert answered.text == result.answer != ""
    replies = [event for event in events if isinstance(event, ModelReplied)]
    assert all(reply.usage and reply.usage.prompt and reply.usage.completion for reply in replies)
    assert [reply.cost_usd for reply in replies] == [0.0, 0.0]


@pytest.mark.local_model
def test_the_command_answers_with_it(models: Path, home: Path, workspace: Path) -> None:
    env = clean_env(home, AGENT_CHAT_MODELS_DIR=str(models))
    arguments = ["-m", NAME, "--no-tools", "--no-session", "Say hello."]
    done = run(["agent-single", *arguments], env=env, cwd=workspace, timeout=120)
    assert done.code == 0, done.err
    assert done.out.strip()
