"""Calling tools as the engine does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from agent_chat.core.observation import ToolResult
from agent_chat.core.ports import Tool, ToolContext
from agent_chat.tools.tool import as_tool


def context(output: Callable[[str], None] = lambda text: None) -> ToolContext:
    return ToolContext("c1", "s1", "s1:1:1:c1", output)


async def call(function: Tool | Callable[..., Any], /, **arguments: Any) -> ToolResult:
    """Validates and runs. Arguments that do not fit raise ValueError, as they do for the engine."""
    tool = as_tool(function)
    return await tool.run(tool.validate(arguments), context())


def named(tools: Iterable[Tool], name: str) -> Tool:
    return next(tool for tool in tools if tool.spec.name == name)
