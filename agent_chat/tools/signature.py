"""What a function's signature says of the tool that it becomes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

from agent_chat.core.ports import ToolContext
from agent_chat.tools.schema import Parameter


def code_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """What holds the name, the docstring and the annotations."""
    inner: Any = _innermost(function)
    if inspect.isroutine(inner) or not callable(inner):
        return inner
    # An object that can be called. A class is called as well, but would be made, not run.
    return inner if inspect.isclass(inner) else type(inner).__call__


def name_of(function: Callable[..., Any]) -> str:
    """The function's name; the class's for an object that can be called."""
    inner: Any = _innermost(function)
    return getattr(inner, "__name__", type(inner).__name__)


def _innermost(function: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(function, functools.partial):
        function = cast("functools.partial[Any]", function).func
    return function


def read_parameters(
    function: Callable[..., Any], code: Callable[..., Any], origin: str
) -> tuple[list[Parameter], str | None]:
    """The parameters for the model, and the name of the one that takes the context."""
    if not callable(function) or inspect.isclass(function):
        raise TypeError(f"{origin} is not a function")
    if inspect.isgeneratorfunction(code) or inspect.isasyncgenfunction(code):
        raise TypeError(f"{origin} yields; a tool returns its result")
    try:
        signature = inspect.signature(function)
        hints = get_type_hints(code, include_extras=True)
    except (NameError, TypeError, ValueError) as error:
        raise TypeError(
            f"{origin}: its signature cannot be read ({error}); the types of its parameters must be defined "
            "at module level"
        ) from error
    parameters: list[Parameter] = []
    context_name: str | None = None
    for name, item in signature.parameters.items():
        annotation: Any = hints.get(name, Any)
        if item.kind not in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY):
            raise TypeError(f"{origin}: parameter {item} has no name that a model could use")
        if _is_context(annotation):
            context_name = name
            continue
        if type(item.default).__name__ == "FieldInfo":
            raise TypeError(
                f"{origin}: write `{name}: Annotated[T, Field(…)] = DEFAULT`; a Field cannot be the default"
            )
        parameters.append(Parameter(name, annotation, item.default))
    return parameters, context_name


def _is_context(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation is ToolContext or ToolContext in get_args(annotation)
