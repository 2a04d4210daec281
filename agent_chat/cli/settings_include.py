"""LiteLLM's `include`: files that are part of a configuration file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agent_chat.cli.settings_file import Mistake, Parsed, read_settings_file
from agent_chat.cli.settings_tree import Node, SourceKind

MAX_FILES = 20


def read_with_includes(path: Path, kind: SourceKind) -> Parsed:
    """A file with what it includes, as LiteLLM does it: lists are joined, everything else is replaced.

    Names are relative to the file that holds them. A project's file includes nothing.
    Raises FileNotFoundError or NotADirectoryError where `path` does not exist.
    """
    parsed = read_settings_file(path, kind)
    root = parsed.root
    if kind == "project" or not isinstance(root.value, dict) or "include" not in root.value:
        return parsed
    mistakes, warnings = list(parsed.mistakes), list(parsed.warnings)
    entries = {key: node for key, node in root.value.items() if key != "include"}
    seen = {path.resolve()}
    waiting = _names(root.value["include"], path.parent, mistakes)
    while waiting:
        file, place = waiting.pop(0)
        if file.resolve() in seen:
            continue
        seen.add(file.resolve())
        if len(seen) > MAX_FILES:
            mistakes.append(Mistake(place.source, f"more than {MAX_FILES} files are included"))
            break
        try:
            included = read_settings_file(file, kind)
        except OSError:
            mistakes.append(Mistake(place.source, f"the included file {file} does not exist"))
            continue
        mistakes += included.mistakes
        warnings += included.warnings
        below = included.root.value
        if not isinstance(below, dict):
            mistakes.append(Mistake(included.root.source, "an included file must hold 'key: value' lines"))
            continue
        for key, node in below.items():
            if key == "include":
                waiting += _names(node, file.parent, mistakes)
            else:
                entries[key] = _joined(entries.get(key), node)
    return Parsed(replace(root, value=entries), tuple(mistakes), tuple(warnings))


def _names(node: Node, base: Path, mistakes: list[Mistake]) -> list[tuple[Path, Node]]:
    items = node.value if isinstance(node.value, list) else []
    if not isinstance(node.value, list) or not all(isinstance(item.value, str) for item in items):
        mistakes.append(Mistake(node.source, "'include' must be a list of file names"))
        return []
    return [(base / str(item.value), item) for item in items]


def _joined(low: Node | None, high: Node) -> Node:
    if low is not None and isinstance(low.value, list) and isinstance(high.value, list):
        return Node([*low.value, *high.value], low.source)
    return high
