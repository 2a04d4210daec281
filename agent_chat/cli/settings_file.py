"""Reads YAML into a tree that knows lines and columns. Refuses what could hurt, explains what is wrong."""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

import yaml
from yaml.constructor import ConstructorError, SafeConstructor
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from agent_chat.cli.settings_tree import Node, Source, SourceKind

MAX_BYTES = 1024 * 1024
MAX_VALUES = 50_000
"""With aliases written out: what stops a file of a few lines from becoming gigabytes."""
MAX_DEPTH = 40

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]"
_PREFIX = "tag:yaml.org,2002:"
_MERGE = _PREFIX + "merge"
# A date stays the text that was written: `api_version: 2025-01-01` means that text.
_TEXT_TAGS = frozenset((_PREFIX + "str", _PREFIX + "timestamp", _PREFIX + "value"))
_SCALAR_TAGS = frozenset(_PREFIX + name for name in ("null", "bool", "int", "float"))


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that is wrong, and where."""

    source: Source
    text: str

    def __str__(self) -> str:
        return f"{self.source.exact}: {self.text}"


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a file holds. With mistakes, the tree is what could be read beside them."""

    root: Node
    mistakes: tuple[Mistake, ...] = ()
    warnings: tuple[str, ...] = ()


def read_settings_file(path: Path, kind: SourceKind) -> Parsed:
    """Reads one file; raises FileNotFoundError or NotADirectoryError where there is none, and nothing else.

    An empty file is an empty mapping.
    """
    source = Source(kind, str(path))
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        return _unusable(source, f"cannot be read: {_reason(error)}")
    if len(data) > MAX_BYTES:
        return _unusable(source, f"is larger than {MAX_BYTES // 1024:,} KiB: this is no configuration file")
    text, warning = _decode(data, path)
    parsed = parse_settings(text, source)
    return replace(parsed, warnings=(warning,)) if warning else parsed


def parse_settings(text: str, source: Source) -> Parsed:
    """The same for text at hand; `source` gives kind and name."""
    reader = _Reader(source)
    try:
        document: yaml.Node | None = yaml.compose(text, Loader=_LOADER)  # pyright: ignore[reportUnknownMemberType]
        root = Node({}, replace(source, line=1, column=1)) if document is None else reader.read(document)
    except RecursionError:
        return _unusable(source, "is nested too deeply")
    except _Refused as refused:
        return Parsed(Node({}, source), (*reader.mistakes, refused.mistake))
    except yaml.YAMLError as error:
        return Parsed(Node({}, source), (_explain(error, text, source),))
    return Parsed(root, tuple(reader.mistakes))


def parse_value(text: str, source: Source) -> Node:
    """One value as it would be written in a file, such as `3`, `[a, b]` or `true`. Raises ValueError."""
    parsed = parse_settings(text, source)
    if parsed.mistakes:
        raise ValueError(parsed.mistakes[0].text)
    return Node(None, source) if not text.strip() else _with_source(parsed.root, source)


def _with_source(node: Node, source: Source) -> Node:
    match node.value:
        case dict() as entries:
            return Node({key: _with_source(item, source) for key, item in entries.items()}, source)
        case list() as items:
            return Node([_with_source(item, source) for item in items], source)
        case _:
            return Node(node.value, source)


class _Refused(Exception):
    def __init__(self, mistake: Mistake) -> None:
        self.mistake = mistake


@dataclass(slots=True)
class _Reader:
    """Turns YAML's nodes into ours."""

    source: Source
    mistakes: list[Mistake] = field(default_factory=list[Mistake])
    _values: int = 0
    _constructor: SafeConstructor = field(default_factory=SafeConstructor)

    def read(self, node: yaml.Node, depth: int = 0) -> Node:
        source = self._place(node)
        self._values += 1
        if self._values > MAX_VALUES:
            raise _Refused(Mistake(source, f"more than {MAX_VALUES:,} values, aliases written out"))
        if depth > MAX_DEPTH:
            raise _Refused(Mistake(source, "nested too deeply, or an alias of something that holds it"))
        match node:
            case MappingNode() if node.tag == _PREFIX + "map":
                return Node(self._entries(node, depth), source)
            case SequenceNode() if node.tag == _PREFIX + "seq":
                return Node([self.read(item, depth + 1) for item in node.value], source)
            case ScalarNode() if node.tag in _TEXT_TAGS:
                return Node(str(node.value), source)
            case ScalarNode() if node.tag in _SCALAR_TAGS:
                return self._scalar(node, source)
            case _:
                tag = node.tag.replace(_PREFIX, "!!")
                self.mistakes.append(Mistake(source, f"the tag {tag} is not allowed: plain values only"))
                return Node(None, source)

    def _entries(self, node: MappingNode, depth: int) -> dict[str, Node]:
        entries: dict[str, Node] = {}
        inherited: dict[str, Node] = {}
        for key_node, value_node in node.value:
            source = self._place(key_node)
            if not isinstance(key_node, ScalarNode):
                self.mistakes.append(Mistake(source, "a key must be plain text"))
                continue
            if key_node.tag == _MERGE:
                self._inherit(inherited, value_node, depth)
                continue
            key = str(key_node.value)
            if key in entries:
                first = entries[key].source.line
                self.mistakes.append(
                    Mistake(source, f"duplicate key '{key}': it is already set on line {first}")
                )
                continue
            entries[key] = replace(self.read(value_node, depth + 1), source=source)
        return {**inherited, **entries}

    def _inherit(self, inherited: dict[str, Node], node: yaml.Node, depth: int) -> None:
        parents = node.value if isinstance(node, SequenceNode) else [node]
        for parent in parents:
            value = self.read(parent, depth + 1).value
            if not isinstance(value, dict):
                self.mistakes.append(Mistake(self._place(parent), "'<<' takes a mapping"))
                continue
            for key, item in value.items():
                inherited.setdefault(key, item)

    def _scalar(self, node: ScalarNode, source: Source) -> Node:
        kind = node.tag.removeprefix(_PREFIX)
        try:
            return Node(getattr(self._constructor, f"construct_yaml_{kind}")(node), source)
        except (ValueError, KeyError, ConstructorError):
            self.mistakes.append(Mistake(source, f"'{str(node.value)[:40]}' is no valid {kind}"))
            return Node(None, source)

    def _place(self, node: yaml.Node) -> Source:
        mark = node.start_mark
        return replace(self.source, line=mark.line + 1, column=mark.column + 1)


def _unusable(source: Source, text: str) -> Parsed:
    return Parsed(Node({}, source), (Mistake(source, text),))


def _reason(error: OSError) -> str:
    match error.errno:
        case errno.EISDIR:
            return "it is a folder"
        case errno.EACCES | errno.EPERM:
            return "permission denied"
        case _:
            return error.strerror or str(error)


def _decode(data: bytes, path: Path) -> tuple[str, str]:
    """The text, and a warning where it was not UTF-8."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding, fallback = "utf-16", "utf-16"
    else:
        encoding, fallback = "utf-8-sig", "cp1252"
    try:
        return data.decode(encoding), ""
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        warning = f"{path}:{line}: not UTF-8; the file is read as {fallback}. Save it as UTF-8."
        return data.decode(fallback, errors="replace"), warning


def _explain(error: yaml.YAMLError, text: str, source: Source) -> Mistake:
    mark: yaml.Mark | None = getattr(error, "problem_mark", None)
    if mark is None:
        return _explain_unreadable(error, text, source)
    place = replace(source, line=mark.line + 1, column=mark.column + 1)
    problem = getattr(error, "problem", None) or "it cannot be read"
    context = getattr(error, "context", None)
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    character = line[mark.column : mark.column + 1]
    indent = line[: len(line) - len(line.lstrip())]
    if "\t" in indent:
        column = indent.index("\t") + 1
        return Mistake(replace(place, column=column), "a tab is used as indentation: use spaces")
    if "cannot start any token" in problem:
        return Mistake(place, f"a value cannot begin with '{character}': put it in quotes")
    if "mapping values are not allowed" in problem:
        return Mistake(place, "a ':' that does not belong here: indent the line right, or quote the text")
    if "undefined alias" in problem:
        return Mistake(
            place, "a value that begins with '*' is an alias, and this one is not defined: quote it"
        )
    if "another document" in problem:
        return Mistake(place, "a second document begins here ('---'): only one is read")
    if "unexpected end of stream" in problem and context:
        return Mistake(place, f"the file ends {context}: a closing quote or bracket is missing")
    return Mistake(place, f"not valid YAML: {problem}" + (f" ({context})" if context else ""))


def _explain_unreadable(error: yaml.YAMLError, text: str, source: Source) -> Mistake:
    found = re.search(_CONTROL, text)
    if found is None:
        return Mistake(source, f"not valid YAML: {str(error).splitlines()[0]}")
    before = text[: found.start()]
    place = replace(source, line=before.count("\n") + 1, column=found.start() - (before.rfind("\n") + 1) + 1)
    return Mistake(place, f"the character U+{ord(found.group()):04X} cannot stand in a configuration file")
