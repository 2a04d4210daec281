"""A typed function as a tool: what it declares, how it runs, how it fails."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel
from support.tools import call, context

from agent_chat.core.approval import Preview
from agent_chat.core.observation import ToolResult
from agent_chat.core.ports import Tool
from agent_chat.tools.tool import FunctionTool, ToolContext, ToolError, as_tool, tool


@tool
def boom(msg: str) -> str:
    """Fails."""
    raise RuntimeError(msg)


async def test_r26_a_tool_that_raises_is_an_error_result_without_a_traceback() -> None:
    result = await call(boom, msg="x")
    assert result == ToolResult("RuntimeError: x", ok=False)


@tool(name="look", effect="read", timeout=1.5, retries=3, on_failure="retry", description="Looks.")
def glance(where: str) -> str:
    """Not this text."""
    return where


def test_what_is_declared_is_what_the_tool_says() -> None:
    declared = as_tool(glance)
    assert (declared.spec.name, declared.spec.description) == ("look", "Looks.")
    assert (declared.effect, declared.timeout, declared.retries, declared.on_failure) == (
        "read",
        1.5,
        3,
        "retry",
    )


def test_a_decorated_function_can_still_be_called() -> None:
    assert glance("there") == "there"


def plain(text: str) -> str:
    return text


def test_a_plain_function_is_taken_to_have_side_effects() -> None:
    made = as_tool(plain)
    assert (made.spec.name, made.effect, made.timeout, made.retries, made.on_failure) == (
        "plain",
        "execute",
        30.0,
        0,
        "observe",
    )


def test_on_failure_retry_alone_means_two_retries() -> None:
    @tool(on_failure="retry")
    def flaky() -> None: ...

    assert as_tool(flaky).retries == 2


@pytest.mark.parametrize("options", [{"retries": 2}, {"retries": -1}, {"timeout": 0.0}])
def test_declarations_that_contradict_themselves_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"retries|timeout"):
        tool(**options)


def test_a_tool_is_given_back_as_it_is() -> None:
    made = FunctionTool(plain)
    assert as_tool(made) is made


class Counter:
    def __init__(self, start: int) -> None:
        self.value = start

    @tool(effect="write")
    def add(self, amount: int) -> int:
        """Adds."""
        self.value += amount
        return self.value

    @tool(effect="read")
    @staticmethod
    def double(number: int) -> int:
        return 2 * number

    def __call__(self, amount: int) -> int:
        """Takes away."""
        return self.value - amount


async def test_a_bound_method_keeps_its_object_and_its_declaration() -> None:
    counter = Counter(5)
    made = as_tool(counter.add)
    assert (made.spec.name, made.spec.description, made.effect) == ("add", "Adds.", "write")
    assert list(made.spec.parameters["properties"]) == ["amount"]
    assert (await call(made, amount=2)).content == "7"
    assert counter.value == 7


async def test_static_methods_partials_and_callable_objects() -> None:
    assert as_tool(Counter.double).effect == "read"
    assert (await call(Counter.double, number=4)).content == "8"
    assert (await call(functools.partial(plain, text="x"))).content == "x"
    made = as_tool(Counter(5))
    assert (made.spec.name, made.spec.description) == ("Counter", "Takes away.")
    assert (await call(made, amount=2)).content == "3"


async def test_declaring_a_bound_method_leaves_its_class_alone() -> None:
    counter = Counter(1)
    declared = tool(name="increase", effect="network")(counter.add)
    assert declared(1) == 2
    assert (as_tool(declared).spec.name, as_tool(declared).effect) == ("increase", "network")
    assert (as_tool(counter.add).spec.name, as_tool(counter.add).effect) == ("add", "write")


def variadic(*names: str) -> None: ...
def keywords(**names: str) -> None: ...
def positional(name: str, /) -> None: ...
def stream() -> Iterator[str]:
    yield "x"


@pytest.mark.parametrize("function", [variadic, keywords, positional, stream, Counter])
def test_functions_that_no_model_could_call_are_refused_by_name(function: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=function.__name__):
        as_tool(function)


def test_types_that_cannot_be_found_are_refused_with_what_to_do() -> None:
    class Hidden: ...

    def lost(value: Hidden) -> None: ...

    with pytest.raises(TypeError, match=r"lost.*Hidden.*module level"):
        as_tool(lost)


@pytest.mark.parametrize("name", ["a.b", "", "x" * 65, "naïve", "a b"])
def test_illegal_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="legal tool name"):
        FunctionTool(tool(name=name)(lambda: None))


def test_the_longest_legal_name() -> None:
    assert as_tool(tool(name="x" * 64)(plain)).spec.name == "x" * 64


async def test_the_context_is_given_by_the_runtime_and_no_parameter() -> None:
    def report(text: str, running: ToolContext) -> str:
        running.output(text)
        return running.idempotency_key

    shown: list[str] = []
    made = FunctionTool(report)
    assert list(made.spec.parameters["properties"]) == ["text"]
    result = await made.run({"text": "half"}, context(shown.append))
    assert (result.content, shown) == ("s1:1:1:c1", ["half"])


async def test_a_model_cannot_set_the_context() -> None:
    def report(running: ToolContext) -> None: ...

    with pytest.raises(ValueError, match="unknown parameter 'running'"):
        as_tool(report).validate({"running": "x"})


@dataclass
class Point:
    x: int
    y: float


class Place(BaseModel):
    name: str


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is [/bold]", "as it is [/bold]"),
        (None, ""),
        (True, "true"),
        (12, "12"),
        (1.5, "1.5"),
        (Point(1, 2.5), '{"x": 1, "y": 2.5}'),
        (Place(name="Zürich"), '{"name": "Zürich"}'),
        ([{"a": [1, None]}], '[{"a": [1, null]}]'),
        ((1, 2), "[1, 2]"),
        (b"bytes", "bytes"),
        (b"\xff\x00", "2 bytes that are not text"),
        ({"odd": object}, '{"odd": "<class \'object\'>"}'),
    ],
)
async def test_results_become_text(value: object, text: str) -> None:
    assert await call(_giving(value)) == ToolResult(text)


def _giving(value: object) -> Callable[[], object]:
    def give() -> object:
        return value

    return give


async def test_a_tool_result_is_given_on_as_it_is() -> None:
    result = ToolResult("bye", ends_chat=True)
    assert await call(_giving(result)) is result


async def test_a_tool_error_is_a_failure_with_its_own_text() -> None:
    def fail() -> None:
        raise ToolError("no such city", retryable=True, fatal=True)

    assert await call(fail) == ToolResult("no such city", ok=False, retryable=True, fatal=True)


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (ValueError(), ToolResult("ValueError", ok=False)),
        (ConnectionResetError("gone"), ToolResult("ConnectionResetError: gone", ok=False, retryable=True)),
        (TimeoutError("slow"), ToolResult("TimeoutError: slow", ok=False, retryable=True)),
        (SystemExit(3), ToolResult("SystemExit: 3", ok=False)),
        (StopIteration("odd"), ToolResult("RuntimeError: coroutine raised StopIteration", ok=False)),
    ],
)
async def test_whatever_is_raised_becomes_a_failure(error: BaseException, result: ToolResult) -> None:
    def fail() -> None:
        raise error

    async def fail_later() -> None:
        raise error

    assert await call(fail) == result
    assert await call(fail_later) == result


async def test_a_cancelled_part_of_a_tool_does_not_look_like_an_interrupt() -> None:
    async def wait() -> None:
        inner = asyncio.get_running_loop().create_future()
        inner.cancel()
        await inner

    result = await call(wait)
    assert not result.ok
    assert "CancelledError" in result.content


async def test_a_cancelled_tool_is_cancelled() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    running = asyncio.create_task(call(wait))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended.is_set()


async def test_a_sync_function_that_gives_a_coroutine_is_awaited() -> None:
    async def later() -> str:
        return "later"

    assert (await call(_starting(later))).content == "later"


def _starting(function: Callable[[], Any]) -> Callable[[], Any]:
    def start() -> Any:
        return function()

    return start


class Editor:
    def __init__(self) -> None:
        self.written: list[str] = []

    def _preview(self, text: str) -> Preview:
        return Preview("text", f"would write {text}")

    @tool(effect="write", preview=_preview)
    def write(self, text: str) -> None:
        self.written.append(text)


async def test_a_preview_tells_and_does_nothing() -> None:
    editor = Editor()
    made: Tool = as_tool(editor.write)
    assert await made.preview({"text": "x"}) == Preview("text", "would write x")
    assert editor.written == []
    assert await as_tool(plain).preview({"text": "x"}) is None
