"""`calc`: arithmetic, exact where arithmetic is."""

from __future__ import annotations

from agent_chat.tools.builtin.described import described
from agent_chat.tools.tool import FunctionTool, tool


def calc_tools() -> tuple[FunctionTool, ...]:
    """`calc`."""

    @tool(effect="read", timeout=10)
    def calc(expression: str) -> str:
        from agent_chat.tools.builtin.arithmetic import calculate

        return calculate(expression)

    return (described(calc),)
