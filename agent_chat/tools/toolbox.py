"""Tools by name; wrappers that narrow and join what a session offers."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

from agent_chat.core.model import ToolSpec
from agent_chat.core.ports import Tool, Toolbox
from agent_chat.tools.tool import ILLEGAL_NAME, LEGAL_NAME, FunctionTool, as_tool


class NamedToolbox(Toolbox, Protocol):
    """A toolbox that knows its names without describing its tools."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of what the model is offered, in the order of `specs`."""
        ...


class ToolRegistry:
    """Tools and plain functions, in the order given.

    Raises ValueError where a name is illegal or taken twice, TypeError where a function cannot be a tool.
    A plain function is taken to have side effects (see `Declaration`).
    """

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for item in tools:
            added = as_tool(item)
            name = added.name if isinstance(added, FunctionTool) else added.spec.name
            if not LEGAL_NAME.fullmatch(name):
                raise ValueError(f"{added!r}: {ILLEGAL_NAME.format(name)}")
            if name in self._tools:
                raise ValueError(f"two tools are named {name!r}: {self._tools[name]!r} and {added!r}")
            self._tools[name] = added

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def specs(self) -> tuple[ToolSpec, ...]:
        return self._specs

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def exists(self, name: str) -> bool:
        return name in self._tools

    @cached_property
    def _specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self._tools.values())


class Allowed:
    """Only the named tools of a toolbox; the others exist, but are not to be had.

    The order is the toolbox's, so that the same tools make the same prompt however they were listed.
    Raises ValueError, with a suggestion, for a name that is not there.
    """

    def __init__(self, toolbox: NamedToolbox, names: Iterable[str]) -> None:
        self._toolbox = toolbox
        self._names = frozenset(names)
        for name in sorted(self._names):
            if not toolbox.exists(name):
                raise ValueError(_no_such_tool(name, toolbox.names))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in self._toolbox.names if name in self._names)

    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(spec for spec in self._toolbox.specs() if spec.name in self._names)

    def get(self, name: str) -> Tool | None:
        return self._toolbox.get(name) if name in self._names else None

    def exists(self, name: str) -> bool:
        return self._toolbox.exists(name)


class Combined:
    """Several toolboxes as one, in their order. Raises ValueError where a name is in two of them."""

    def __init__(self, toolboxes: Sequence[NamedToolbox]) -> None:
        self._toolboxes = tuple(toolboxes)
        owners: dict[str, NamedToolbox] = {}
        for toolbox in self._toolboxes:
            for name in toolbox.names:
                if name in owners:
                    first, second = owners[name].get(name), toolbox.get(name)
                    raise ValueError(f"two tools are named {name!r}: {first!r} and {second!r}")
                owners[name] = toolbox
        self._owners: Mapping[str, NamedToolbox] = owners

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._owners)

    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(spec for toolbox in self._toolboxes for spec in toolbox.specs())

    def get(self, name: str) -> Tool | None:
        owner = self._owners.get(name)
        return None if owner is None else owner.get(name)

    def exists(self, name: str) -> bool:
        return any(toolbox.exists(name) for toolbox in self._toolboxes)


def _no_such_tool(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    guess = f" did you mean {near[0]!r}?" if near else ""
    return f"unknown tool {name!r};{guess} the tools are: {', '.join(names) or 'none'}"
