"""Reading on in results that were shown in part."""

from __future__ import annotations

from support.tools import call

from agent_chat.core.observation import ToolResult
from agent_chat.core.ports import Tool
from agent_chat.tools.builtin.results import result_tools


class Store:
    def __init__(self, **texts: str) -> None:
        self._texts = texts

    def put(self, text: str) -> str:
        raise AssertionError("nothing is stored")

    def get(self, result_id: str) -> str | None:
        return self._texts.get(result_id)


def read_result(text: str) -> Tool:
    return result_tools(Store(r1=text))[0]


async def test_a_result_is_read_in_parts_to_its_end() -> None:
    text = "".join(f"{number} é\n" for number in range(10_000))
    tool = read_result(text)
    read, offset = "", 0
    while offset < len(text):
        content = (await call(tool, id="r1", offset=offset, limit=14_000)).content
        part, _, note = content.rpartition("\n[")
        assert len(content) < 15_000
        read += part
        offset += len(part)
        assert note == (
            f"characters {offset - len(part)}-{offset} of {len(text)}; "
            + (f"offset={offset} reads on]" if offset < len(text) else "this is the end]")
        )
    assert read == text


async def test_limits_are_kept_within_bounds() -> None:
    tool = read_result("x" * 100_000)
    assert len((await call(tool, id="r1", limit=10**9)).content) < 15_000
    assert (await call(tool, id="r1", limit=0)).content.startswith("x\n[characters 0-1 of")
    assert (await call(tool, id=" r1 ", offset=-5, limit=1)).ok


async def test_results_and_offsets_that_do_not_exist() -> None:
    tool = read_result("short")
    assert await call(tool, id="r2") == ToolResult(
        "there is no result with the id 'r2'; the id stands in the shortened result", ok=False
    )
    assert await call(tool, id="r1", offset=5) == ToolResult("the result has only 5 characters", ok=False)
