"""What a tool's text tells the model: a description, and a line for each parameter."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_SECTION = re.compile(r"(args|arguments|parameters|params|returns?|raises|yields|examples?|notes?):$", re.I)
_PARAMETER_SECTIONS = {"args", "arguments", "parameters", "params"}
_GOOGLE_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)")
_FIELD_ENTRY = re.compile(r":param(?:\s+[^:]*?)?\s+(\w+):\s*(.*)")
_FIELD = re.compile(r":\w+[^:]*:")
_LIST_ENTRY = re.compile(r"[-*]\s+`?(\w+)`?:\s*(.*)")


@dataclass(frozen=True, slots=True)
class Documentation:
    description: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])


def from_docstring(text: str | None) -> Documentation:
    """Reads Google style (`Args:`) and field lists (`:param name:`); anything else is description."""
    lines = inspect.cleandoc(text or "").splitlines()
    parameters: dict[str, str] = {}
    description: list[str] = []
    section: str | None = None
    current: str | None = None
    entry_indent: int | None = None
    for line in lines:
        stripped = line.strip()
        indent = len(line) - len(line.lstrip())
        if indent == 0 and (heading := _SECTION.match(stripped)):
            section, current, entry_indent = heading.group(1).lower(), None, None
        elif found := _FIELD_ENTRY.match(stripped):
            section, entry_indent = "params", indent
            current = str(found.group(1))
            parameters[current] = found.group(2)
        elif section in _PARAMETER_SECTIONS and stripped:
            if entry_indent is None:
                entry_indent = indent
            found = _GOOGLE_ENTRY.match(stripped) if indent <= entry_indent else None
            if found:
                current = str(found.group(1))
                parameters[current] = found.group(2)
            elif _FIELD.match(stripped):
                section = "returns"
            elif current is not None:
                parameters[current] = f"{parameters[current]} {stripped}".strip()
        elif section is None or (indent == 0 and stripped):
            section = None
            description.append(line)
    return Documentation("\n".join(description).strip(), parameters)


def from_markdown(text: str) -> Documentation:
    """Reads a description followed by a list of ``- `name`: text``."""
    parameters: dict[str, str] = {}
    description: list[str] = []
    current: str | None = None
    for line in text.splitlines():
        if found := _LIST_ENTRY.match(line):
            current = str(found.group(1))
            parameters[current] = found.group(2)
        elif current is not None and line.strip():
            parameters[current] += f" {line.strip()}"
        elif current is None:
            description.append(line)
    return Documentation("\n".join(description).strip(), parameters)
