"""A terminal chat agent whose loop people can see, stop, resume and trust.

As a library: `from agent_chat import Agent, tool`.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Agent", "Limits", "ToolContext", "ToolError", "ToolResult", "TurnResult", "__version__", "tool"]

if TYPE_CHECKING:
    from agent_chat.agent import Agent, TurnResult
    from agent_chat.core.budget import Limits
    from agent_chat.tools.tool import ToolContext, ToolError, ToolResult, tool

_HOMES = {
    "Agent": "agent_chat.agent",
    "TurnResult": "agent_chat.agent",
    "Limits": "agent_chat.core.budget",
    "ToolContext": "agent_chat.tools.tool",
    "ToolError": "agent_chat.tools.tool",
    "ToolResult": "agent_chat.tools.tool",
    "tool": "agent_chat.tools.tool",
}


def __getattr__(name: str) -> Any:
    # The commands import this package too, and need none of these at their start.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
