"""Configuration as a tree in which every value knows where it was written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

SourceKind = Literal["built in", "shipped", "user", "project", "file", "environment", "option"]
Path = tuple[str | int, ...]
"""Where a value stands in a tree: keys of mappings and indices of lists."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value comes from."""

    kind: SourceKind
    name: str = ""
    """The file, the environment variable or the option."""
    line: int = 0
    """From 1; 0 where there are no lines."""
    column: int = 0
    profile: str = ""
    """The profile that holds the value, where one does."""

    def __str__(self) -> str:
        place = f"{self.name}:{self.line}" if self.line else self.name or self.kind
        return f"{place} (profile {self.profile})" if self.profile else place

    @property
    def exact(self) -> str:
        """With the column, for messages about mistakes."""
        return f"{self.name}:{self.line}:{self.column}" if self.line else self.name or self.kind


BUILT_IN = Source("built in")


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its source. Mappings hold nodes by key, lists hold nodes, everything else is a scalar."""

    value: dict[str, Node] | list[Node] | str | int | float | bool | None
    source: Source = BUILT_IN

    def child(self, key: str) -> Node | None:
        return self.value.get(key) if isinstance(self.value, dict) else None

    def entries(self) -> Iterable[tuple[str, Node]]:
        """Keys and nodes of a mapping; nothing where this is none."""
        return self.value.items() if isinstance(self.value, dict) else ()

    def plain(self) -> Any:
        """The value without sources."""
        match self.value:
            case dict() as entries:
                return {key: node.plain() for key, node in entries.items()}
            case list() as items:
                return [node.plain() for node in items]
            case scalar:
                return scalar

    def source_at(self, path: Sequence[str | int]) -> Source:
        """The source of the value at `path`, or of the nearest one above it that is written down."""
        node = self
        for step in path:
            below = _step(node, step)
            if below is None:
                break
            node = below
        return node.source

    def written(self, path: Sequence[str | int]) -> Source | None:
        """The source of exactly this path; None where nothing is written there."""
        node: Node | None = self
        for step in path:
            node = _step(node, step) if node is not None else None
        return None if node is None else node.source

    def leaves(self, path: Path = ()) -> Iterator[tuple[Path, Node]]:
        """Everything that is not a mapping, with its path; lists as a whole, and empty mappings."""
        if isinstance(self.value, dict) and self.value:
            for key, node in self.value.items():
                yield from node.leaves((*path, key))
        else:
            yield path, self


def _step(node: Node, step: str | int) -> Node | None:
    match node.value, step:
        case dict() as entries, str():
            return entries.get(step)
        case list() as items, int() if 0 <= step < len(items):
            return items[step]
        case _:
            return None


def mapping(entries: Mapping[str, Node] | None = None, source: Source = BUILT_IN) -> Node:
    return Node(dict(entries or {}), source)


def at(path: Sequence[str], leaf: Node) -> Node:
    """A tree that holds `leaf` at `path` and nothing else."""
    node = leaf
    for step in reversed(path):
        node = Node({step: node}, leaf.source)
    return node


def from_plain(value: Any, source: Source) -> Node:
    """A tree of one source, from values as YAML or the command line give them."""
    match value:
        case Mapping():
            return Node({str(key): from_plain(item, source) for key, item in value.items()}, source)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case list() | tuple():
            return Node([from_plain(item, source) for item in value], source)  # pyright: ignore[reportUnknownVariableType]
        case _:
            return Node(value, source)


def merged(low: Node | None, high: Node) -> Node:
    """`high` laid over `low`: mappings merge, everything else is replaced."""
    if low is None or not isinstance(low.value, dict) or not isinstance(high.value, dict):
        return high
    entries = dict(low.value)
    for key, node in high.value.items():
        entries[key] = merged(entries.get(key), node)
    return Node(entries, high.source)
