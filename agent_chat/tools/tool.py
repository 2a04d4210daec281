"""Tools from typed Python functions.

    @tool(effect="read")
    def population(city: str, year: int | None = None) -> int:
        '''How many people live in a city.

        Args:
            city: its English name
            year: the latest known when left out
        '''

Name, description and JSON Schema come from the function. A parameter annotated `ToolContext` is given by
the runtime and never seen by the model. `async def` functions run in the event loop, all others in a thread.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar, overload

from typing_extensions import TypeIs

from agent_chat.core.approval import Preview
from agent_chat.core.model import ToolSpec
from agent_chat.core.observation import Effect, OnFailure, ToolResult
from agent_chat.core.ports import Tool, ToolContext
from agent_chat.tools.documentation import Documentation, from_docstring
from agent_chat.tools.errors import ToolError
from agent_chat.tools.results import to_result
from agent_chat.tools.schema import Arguments
from agent_chat.tools.signature import code_of, name_of, read_parameters
from agent_chat.tools.threads import in_thread

__all__ = ["Declaration", "FunctionTool", "ToolContext", "ToolError", "ToolResult", "as_tool", "tool"]

F = TypeVar("F", bound=Callable[..., Any])

LEGAL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
ILLEGAL_NAME = "{!r} is not a legal tool name; use 1 to 64 of A-Z a-z 0-9 _ -"
DEFAULT_TIMEOUT = 30.0
DEFAULT_RETRIES = 2
TRANSIENT = (ConnectionError, TimeoutError)
"""Failures that may pass, whoever raises them."""

_ATTRIBUTE = "__agent_tool__"


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a function cannot say by its signature.

    The effect of a function about which nothing is said is `execute`: whatever it does, it runs alone and
    is never taken for harmless.
    """

    name: str | None = None
    """None for the function's own."""
    effect: Effect = "execute"
    timeout: float | None = DEFAULT_TIMEOUT
    """Seconds for one attempt; None for no limit."""
    retries: int | None = None
    """Attempts after the first one, for failures that may pass; None for 2 with `retry`, 0 without."""
    on_failure: OnFailure = "observe"
    description: str | None = None
    """None for what the docstring says."""
    preview: Callable[..., Any] | None = None
    """Gives, for the same arguments, the `Preview` of what would happen; it must have no effect."""

    def __post_init__(self) -> None:
        if self.retries and self.on_failure != "retry":
            raise ValueError(f'retries={self.retries} needs on_failure="retry"')
        if self.retries is not None and self.retries < 0:
            raise ValueError(f"retries must be 0 or more, not {self.retries}")
        if self.timeout is not None and self.timeout <= 0:
            raise ValueError(f"timeout must be more than 0 seconds or None, not {self.timeout:g}")


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(
    *,
    name: str | None = None,
    effect: Effect = "execute",
    timeout: float | None = DEFAULT_TIMEOUT,
    retries: int | None = None,
    on_failure: OnFailure = "observe",
    description: str | None = None,
    preview: Callable[..., Any] | None = None,
) -> Callable[[F], F]: ...
def tool(
    function: F | None = None,
    /,
    *,
    name: str | None = None,
    effect: Effect = "execute",
    timeout: float | None = DEFAULT_TIMEOUT,
    retries: int | None = None,
    on_failure: OnFailure = "observe",
    description: str | None = None,
    preview: Callable[..., Any] | None = None,
) -> F | Callable[[F], F]:
    """Declares a function, method or callable as a tool; it stays what it is and can be called as before."""
    declaration = Declaration(name, effect, timeout, retries, on_failure, description, preview)

    def declare(function: F) -> F:
        target: Any = getattr(function, "__wrapped__", function) if _is_unbound(function) else function
        try:
            setattr(target, _ATTRIBUTE, declaration)
        except AttributeError:
            # Bound methods and built-in functions carry no attributes of their own.
            target = functools.partial(function)
            setattr(target, _ATTRIBUTE, declaration)
            return target
        return function

    return declare if function is None else declare(function)


def is_declared(function: object) -> bool:
    """Whether `tool` decorates it."""
    return isinstance(getattr(function, _ATTRIBUTE, None), Declaration)


def _is_unbound(function: object) -> bool:
    return isinstance(function, staticmethod | classmethod)


def as_tool(function: Tool | Callable[..., Any]) -> Tool:
    """The tool that a function, decorated or not, stands for; a tool is given back as it is.

    Raises TypeError or ValueError, with the function named, where it cannot be one.
    """
    if _is_tool(function):
        return function
    return FunctionTool(function)


def _is_tool(item: object) -> TypeIs[Tool]:
    # Not by `spec`: asking for it would build the schema.
    return hasattr(item, "validate") and hasattr(item, "run")


class FunctionTool:
    """A function as a `Tool`. The schema is built when it is first asked for."""

    def __init__(
        self,
        function: Callable[..., Any],
        declaration: Declaration | None = None,
        *,
        documentation: Callable[[], Documentation] | None = None,
    ) -> None:
        """`documentation` gives, when first needed, what is told of the tool in place of the docstring.

        Raises TypeError where the function has no signature that a model could fill in, ValueError where the
        name is not a legal one.
        """
        self._function = function
        self._declaration = declaration or getattr(function, _ATTRIBUTE, None) or Declaration()
        self._code = code_of(function)
        self._read_documentation = documentation or (lambda: from_docstring(inspect.getdoc(self._code)))
        self.name = self._declaration.name or name_of(function)
        if not LEGAL_NAME.fullmatch(self.name):
            raise ValueError(f"{self.origin}: {ILLEGAL_NAME.format(self.name)} (give one with name=…)")
        self._parameters, self._context_name = read_parameters(function, self._code, self.origin)

    @property
    def origin(self) -> str:
        """Where the tool comes from: `module.function`."""
        code = self._code
        return f"{getattr(code, '__module__', '?')}.{getattr(code, '__qualname__', repr(code))}"

    def __repr__(self) -> str:
        return f"<tool {self.name} from {self.origin}>"

    @property
    def effect(self) -> Effect:
        return self._declaration.effect

    @property
    def timeout(self) -> float | None:
        return self._declaration.timeout

    @property
    def retries(self) -> int:
        if self.on_failure != "retry":
            return 0
        return DEFAULT_RETRIES if self._declaration.retries is None else self._declaration.retries

    @property
    def on_failure(self) -> OnFailure:
        return self._declaration.on_failure

    @property
    def spec(self) -> ToolSpec:
        return self._spec

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return self._arguments.validate(arguments)

    async def preview(self, arguments: Mapping[str, Any]) -> Preview | None:
        preview = self._declaration.preview
        if preview is None:
            return None
        owner = getattr(self._function, "__self__", None)
        if owner is not None and inspect.isfunction(preview):
            # Declared in a class beside the method that it belongs to.
            preview = preview.__get__(owner)
        return await _call(preview, self._arguments.read(arguments))

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Runs the function. What it raises becomes a failed result, never a traceback.

        When cancelled, an `async def` function is cancelled with it; another one runs to its end in its
        thread, and its result is dropped.
        """
        try:
            values = self._arguments.read(arguments)
            if self._context_name is not None:
                values[self._context_name] = context
            return to_result(await _call(self._function, values))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # Nobody cancelled us: something that the function waited for was cancelled.
            return ToolResult("CancelledError: something the tool waited for was cancelled", ok=False)
        except ToolError as error:
            return ToolResult(str(error), ok=False, retryable=error.retryable, fatal=error.fatal)
        except (Exception, SystemExit) as error:
            text = str(error)
            named = f"{type(error).__name__}: {text}" if text else type(error).__name__
            return ToolResult(named, ok=False, retryable=isinstance(error, TRANSIENT))

    @cached_property
    def _spec(self) -> ToolSpec:
        description = self._declaration.description
        if description is None:
            description = self._documentation.description
        return ToolSpec(self.name, description, self._arguments.schema)

    @cached_property
    def _documentation(self) -> Documentation:
        return self._read_documentation()

    @cached_property
    def _arguments(self) -> Arguments:
        told = self._documentation.parameters
        return Arguments([replace(item, description=told.get(item.name, "")) for item in self._parameters])


async def _call(function: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    if inspect.iscoroutinefunction(code_of(function)):
        return await function(**values)
    result = await in_thread(function, **values)
    return await result if inspect.isawaitable(result) else result
