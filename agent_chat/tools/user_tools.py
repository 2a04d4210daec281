"""Tools from Python files of the user's own."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from agent_chat.core.observation import ToolResult
from agent_chat.core.ports import ToolContext
from agent_chat.tools.printed import printing_to
from agent_chat.tools.signature import code_of
from agent_chat.tools.tool import FunctionTool, is_declared


class UserTool(FunctionTool):
    """A function of a file of the user's own. What it prints is shown as its output while it runs."""

    def __init__(self, function: Callable[..., Any], path: Path) -> None:
        self._path = path
        super().__init__(function)

    @property
    def origin(self) -> str:
        """`FILE:LINE`."""
        return f"{self._path}:{_line_of(self._code)}"

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        with printing_to(context.output):
            return await super().run(arguments, context)


@dataclass(frozen=True, slots=True)
class ToolFile:
    """What became of a file."""

    tools: tuple[UserTool, ...]
    problems: tuple[str, ...]
    """One line each, with its place: what of the file is no tool, and why."""


def load_tool_file(path: Path, *, undecorated: bool) -> ToolFile:
    """Runs the file and takes its tools: the public functions that `@tool` decorates.

    `undecorated`: where it decorates none, its own public functions whose parameters have types and that have
    a docstring. Never raises: what is wrong with a file costs that file, or that function.
    """
    try:
        module = _run(path)
    except OSError as error:
        return ToolFile((), (f"{path} cannot be read: {error.strerror or error}",))
    except (Exception, SystemExit) as error:
        return ToolFile((), (f"{_place(path, error)}: {_said(error)}",))
    functions = list(_declared(module)) or (list(_documented(module)) if undecorated else [])
    tools: list[UserTool] = []
    problems: list[str] = []
    for function in functions:
        try:
            tool = UserTool(function, path)
            _ = tool.spec  # the schema is built now, so that a mistake in it is told of now
        except Exception as error:
            problems.append(f"{path}:{_line_of(code_of(function))}: {_said(error, path)}")
        else:
            tools.append(tool)
    if not functions:
        wanted = "no public function that @tool decorates"
        more = ", and none that has a docstring and types for its parameters" if undecorated else ""
        problems.append(f"{path}: there are no tools in it ({wanted}{more})")
    return ToolFile(tuple(tools), tuple(problems))


class _Loader(SourceFileLoader):
    """Leaves no compiled file beside the user's."""

    def path_stats(self, path: str) -> Mapping[str, Any]:
        raise OSError("nothing is cached")


def _run(path: Path) -> ModuleType:
    """A module of its own name, so that files of the same name do not meet, nor a library of that name."""
    name = f"agent_chat_user_tools.{path.stem}_{abs(hash(str(path.resolve()))):x}"
    spec = importlib.util.spec_from_file_location(name, path, loader=_Loader(name, str(path)))
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python file")
    module = importlib.util.module_from_spec(spec)
    # Annotations and dataclasses look their module up here.
    sys.modules[name] = module
    try:
        with printing_to(lambda text: None):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _declared(module: ModuleType) -> Iterator[Callable[..., Any]]:
    for name, value in vars(module).items():
        if not name.startswith("_") and callable(value) and not inspect.isclass(value) and is_declared(value):
            yield value


def _documented(module: ModuleType) -> Iterator[Callable[..., Any]]:
    for name, value in vars(module).items():
        is_own = inspect.isfunction(value) and value.__module__ == module.__name__
        if not name.startswith("_") and is_own and inspect.getdoc(value) and _is_typed(value):
            yield value


def _is_typed(function: Callable[..., Any]) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return all(parameter.annotation is not inspect.Parameter.empty for parameter in parameters)


def _line_of(code: Callable[..., Any]) -> int:
    return getattr(getattr(inspect.unwrap(code), "__code__", None), "co_firstlineno", 1)


def _place(path: Path, error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"{path}:{error.lineno or 1}"
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)
    ]
    return f"{path}:{lines[-1]}" if lines else str(path)


def _said(error: BaseException, path: Path | None = None) -> str:
    """On one line, without the place where that is told already."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    first = (text.strip().splitlines() or [""])[0]
    if path is not None and first.startswith(f"{path}:"):
        return first.partition(" ")[2]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
