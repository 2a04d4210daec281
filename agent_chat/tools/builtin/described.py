"""Built-in tools are described to the model by a Markdown file beside their code, named after the tool."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from agent_chat.tools.documentation import Documentation, from_markdown
from agent_chat.tools.tool import FunctionTool


def described(function: Callable[..., Any]) -> FunctionTool:
    """The tool of a decorated function; its text is read when it is first needed."""
    return FunctionTool(function, documentation=partial(_read, function.__name__))


def _read(name: str) -> Documentation:
    from importlib.resources import files

    return from_markdown(files("agent_chat.tools.builtin").joinpath(f"{name}.md").read_text("utf-8"))
