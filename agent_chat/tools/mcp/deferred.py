"""Tools that the model is told of when it looks for them: their descriptions would fill its context."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from agent_chat.core.model import ToolSpec
from agent_chat.tools.tool import FunctionTool, tool

FIND_TOOLS = "find_tools"
MOST_FOUND = 8
MOST_NAMED = 60
_WORD = re.compile(r"[a-z0-9]+")


def find_tools_tool(
    told: str, specs: Callable[[], Sequence[ToolSpec]], reveal: Callable[[Sequence[str]], None]
) -> FunctionTool:
    """`find_tools`. `told` says what there is to find; `reveal` is given the names of what was found."""

    @tool(
        name=FIND_TOOLS,
        effect="read",
        description=f"Finds tools by what they do. {told} What is found can be called from then on.",
    )
    def find_tools(query: str) -> str:
        found = search(query, specs())
        if not found:
            names = [spec.name for spec in specs()]
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            return f"Nothing fits. The tools are: {', '.join(names[:MOST_NAMED])}{more}."
        reveal([spec.name for spec in found])
        lines = [f"{spec.name}: {spec.description.partition(chr(10))[0][:200]}" for spec in found]
        return "These can be called now:\n" + "\n".join(lines)

    return find_tools if isinstance(find_tools, FunctionTool) else FunctionTool(find_tools)


def search(query: str, specs: Sequence[ToolSpec]) -> list[ToolSpec]:
    """The tools that fit best, the best first; a word in the name counts more than one in the description."""
    wanted = _words(query)
    scored = [(_score(wanted, spec), spec) for spec in specs]
    fitting = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: -pair[0])
    return [spec for _, spec in fitting[:MOST_FOUND]]


def _score(wanted: frozenset[str], spec: ToolSpec) -> int:
    name, description = _words(spec.name), _words(spec.description)
    in_name = sum(_has(name, word) for word in wanted)
    return 3 * in_name + sum(_has(description, word) for word in wanted)


def _has(words: frozenset[str], wanted: str) -> bool:
    return wanted in words or any(
        min(len(word), len(wanted)) >= 4 and (word.startswith(wanted) or wanted.startswith(word))
        for word in words
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - {
        "mcp",
        "the",
        "a",
        "an",
        "to",
        "of",
        "for",
        "and",
        "tool",
    }
