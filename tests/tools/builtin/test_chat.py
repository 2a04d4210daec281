"""The model turns to the person."""

from __future__ import annotations

import asyncio

from support.tools import call, named

from agent_chat.core.observation import ToolResult
from agent_chat.tools.builtin.chat import chat_tools


async def test_the_answer_is_the_observation_however_long_it_takes() -> None:
    asked: list[str] = []

    async def ask(question: str) -> str | None:
        asked.append(question)
        return "blue"

    ask_user = named(chat_tools(ask), "ask_user")
    assert await call(ask_user, question="Which color?") == ToolResult("blue")
    assert asked == ["Which color?"]
    assert ask_user.timeout is None


async def test_where_nobody_can_be_asked_the_model_is_told() -> None:
    async def ask(question: str) -> str | None:
        return None

    result = await call(named(chat_tools(ask), "ask_user"), question="?")
    assert not result.ok
    assert "nobody can be asked" in result.content


async def test_an_empty_answer_is_an_answer() -> None:
    async def ask(question: str) -> str | None:
        return ""

    assert (await call(named(chat_tools(ask), "ask_user"), question="?")).ok


async def test_one_question_at_a_time() -> None:
    open_questions = 0
    most = 0

    async def ask(question: str) -> str | None:
        nonlocal open_questions, most
        open_questions += 1
        most = max(most, open_questions)
        await asyncio.sleep(0)
        open_questions -= 1
        return question

    ask_user = named(chat_tools(ask), "ask_user")
    results = await asyncio.gather(*(call(ask_user, question=name) for name in "abc"))
    assert [result.content for result in results] == ["a", "b", "c"]
    assert most == 1


async def test_end_chat_asks_for_the_end_of_the_session() -> None:
    async def ask(question: str) -> str | None:
        raise AssertionError("nobody is asked")

    end_chat = named(chat_tools(ask), "end_chat")
    for arguments in ({"message": "bye"}, {}):
        result = await call(end_chat, **arguments)
        assert (result.ok, result.ends_chat) == (True, True)
