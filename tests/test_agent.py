"""The library: five lines make an agent."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from support.fixtures import ProviderFactory
from support.provider import DONE, FIN, HANG, OK, TC, USE, T

import agent_chat
from agent_chat import Agent, Limits, tool
from agent_chat.core.errors import UserError
from agent_chat.core.events import ToolFinished
from agent_chat.core.messages import AssistantMessage, ToolMessage, UserMessage
from agent_chat.models.scripted import ScriptedModel, text


@tool(effect="read")
def population(city: str) -> int:
    """How many people live in a city."""
    return {"Bergen": 291_940}[city]


def test_an_agent_calls_a_function_and_answers(
    provider: ProviderFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = provider(
        [TC(0, "c1", "population", '{"city": "Bergen"}'), FIN("tool_calls"), USE(20, 5), DONE],
        [T("291,940 people."), FIN("stop"), USE(40, 6), DONE],
        strict=True,
    )
    monkeypatch.setenv("OPENAI_BASE_URL", script.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    limits = Limits(iterations=5)
    with Agent("openai/gpt-5-mini", tools=[population], system="Be brief.", limits=limits) as agent:
        result = agent.run_sync("How many people live in Bergen?")
    assert (result.answer, result.outcome.reason) == ("291,940 people.", "final_answer")
    assert [type(message) for message in result.messages] == [
        UserMessage,
        AssistantMessage,
        ToolMessage,
        AssistantMessage,
    ]
    finished = [entry.event for entry in result.events if isinstance(entry.event, ToolFinished)]
    assert [event.content for event in finished] == ["291940"]
    assert agent.messages[0].text == "Be brief."


async def test_turns_follow_each_other_in_one_conversation() -> None:
    model = ScriptedModel(text("one"), text("two"))
    async with Agent(model) as agent:
        first, second = await asyncio.gather(agent.run("a"), agent.run("b"))
    assert (first.answer, second.answer) == ("one", "two")
    assert [message.text for message in agent.messages] == ["a", "one", "b", "two"]
    assert [entry.turn for entry in second.events] == [2] * len(second.events)


async def test_a_turn_can_be_interrupted(provider: ProviderFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    script = provider([T("thinking"), HANG], OK)
    monkeypatch.setenv("OPENAI_BASE_URL", script.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    async with Agent("openai/gpt-5-mini") as agent:
        running = asyncio.create_task(agent.run("hi"))
        await script.request_arrives(1, 5)
        assert agent.interrupt()
        assert (await running).outcome.reason == "interrupted"
        assert (await agent.run("again")).answer == "ok"


def test_mistakes_are_told_before_anything_is_sent() -> None:
    with pytest.raises(UserError):
        Agent("no-such-provider/model")
    with pytest.raises(ValueError, match="population"):
        Agent(ScriptedModel(), tools=[population, population])


def test_the_public_names_are_these() -> None:
    assert sorted(agent_chat.__all__) == [
        "Agent",
        "Limits",
        "ToolContext",
        "ToolError",
        "ToolResult",
        "TurnResult",
        "__version__",
        "tool",
    ]
    assert all(getattr(agent_chat, name) for name in agent_chat.__all__)


def test_importing_the_package_is_free() -> None:
    program = "import sys, agent_chat; assert not {'pydantic', 'httpx', 'asyncio'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)
