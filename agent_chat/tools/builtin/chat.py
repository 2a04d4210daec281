"""`ask_user` and `end_chat`: the model turns to the person."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from agent_chat.tools.builtin.described import described
from agent_chat.tools.tool import FunctionTool, ToolError, ToolResult, tool

NOBODY = "nobody can be asked in this session; decide by yourself and say so in the answer"


def chat_tools(ask: Callable[[str], Awaitable[str | None]]) -> tuple[FunctionTool, ...]:
    """`ask_user` and `end_chat`.

    `ask` shows a question and gives the person's answer, however long that takes; None where nobody can be
    asked. It is never called a second time before it has answered.
    """
    one_at_a_time = asyncio.Lock()

    @tool(effect="read", timeout=None)
    async def ask_user(question: str) -> str:
        async with one_at_a_time:
            answer = await ask(question)
        if answer is None:
            raise ToolError(NOBODY)
        return answer or "(the user gave an empty answer)"

    @tool(effect="read")
    async def end_chat(message: str = "") -> ToolResult:
        return ToolResult("The session ends after this turn.", ends_chat=True)

    return described(ask_user), described(end_chat)
