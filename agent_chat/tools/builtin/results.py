"""`read_result`: the part of a long tool result that the model was not shown."""

from __future__ import annotations

from agent_chat.core.ports import ResultStore
from agent_chat.tools.builtin.described import described
from agent_chat.tools.tool import FunctionTool, ToolError, tool

DEFAULT_CHARACTERS = 10_000
MAX_CHARACTERS = 14_000


def result_tools(store: ResultStore) -> tuple[FunctionTool, ...]:
    """`read_result`, on the results kept in `store`."""

    @tool(effect="read", timeout=10)
    async def read_result(id: str, offset: int = 0, limit: int = DEFAULT_CHARACTERS) -> str:  # noqa: A002
        text = store.get(id.strip())
        if text is None:
            raise ToolError(f"there is no result with the id {id!r}; the id stands in the shortened result")
        first = max(0, offset)
        if first >= len(text):
            raise ToolError(f"the result has only {len(text):,} characters")
        end = min(len(text), first + min(max(1, limit), MAX_CHARACTERS))
        rest = f"offset={end} reads on" if end < len(text) else "this is the end"
        return f"{text[first:end]}\n[characters {first}-{end} of {len(text)}; {rest}]"

    return (described(read_result),)
