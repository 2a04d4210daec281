"""Shows settings with their sources, and nothing that is secret."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from agent_chat.cli.load_settings import FILE_NAME, Loaded, working_folder
from agent_chat.cli.settings_check import is_secret
from agent_chat.cli.settings_tree import Source
from agent_chat.cli.shipped import default_settings_file
from agent_chat.cli.trust import PROJECT_FILE, NoHome, TrustedFolders, find_project, user_config_folder
from agent_chat.core.redaction import MASK, redact
from agent_chat.ui.sanitize import one_line


@dataclass(frozen=True, slots=True)
class Value:
    """One effective setting, fit to be shown."""

    name: str
    value: Any
    source: Source


@dataclass(frozen=True, slots=True)
class ConfigFile:
    kind: str
    path: Path
    state: str
    """`read`, `absent`, or `not trusted`."""


def effective(loaded: Loaded) -> list[Value]:
    """Every setting by name. What is not written down anywhere is there with its default."""
    agent: dict[str, Any] = loaded.agent.model_dump(mode="json")
    others = {key: value for key, value in loaded.litellm.items() if value not in ({}, [], None)}
    values = list(_flat({"agent": agent, **others}, (), loaded))
    return sorted(values, key=lambda value: (value.name.split(".")[0] != "agent",))


def _flat(value: Any, path: tuple[str | int, ...], loaded: Loaded) -> Iterator[Value]:
    if isinstance(value, dict) and value:
        for key, item in cast("dict[str, Any]", value).items():
            yield from _flat(item, (*path, key), loaded)
        return
    if path == ("model_list",) and isinstance(value, list):
        for place, entry in enumerate(cast("list[Any]", value)):
            yield from _flat(entry, (*path, place), loaded)
        return
    name = ".".join(str(step) for step in path)
    yield Value(name, masked(value, tuple(str(step) for step in path)), loaded.source(*path))


def masked(value: Any, path: tuple[str, ...] = ()) -> Any:
    """The value without credentials: by the names of keys, and by what looks like one.

    `os.environ/NAME` names a variable and stays.
    """
    match value:
        case dict():
            return {key: masked(item, (*path, key)) for key, item in cast("dict[str, Any]", value).items()}
        case list() | tuple():
            return [masked(item, path) for item in cast("list[Any]", value)]
        case str() if value.startswith("os.environ/") or not value:
            return value
        case str() if path and (is_secret(path[-1]) or _is_header(path)):
            return MASK
        case str():
            return _without_user(redact(value))
        case _:
            return value


def _is_header(path: tuple[str, ...]) -> bool:
    return len(path) > 1 and path[-2].endswith("headers")


def _without_user(text: str) -> str:
    """An address without the user and password in it."""
    scheme, separator, rest = text.partition("://")
    host, slash, tail = rest.partition("/")
    if not separator or "@" not in host:
        return text
    return f"{scheme}://{MASK}@{host.rpartition('@')[2]}{slash}{tail}"


def as_json(loaded: Loaded) -> Mapping[str, Any]:
    """`settings` as a list of key, value and source; `files` that were read, the strongest first."""
    return {
        "files": [str(path) for path in loaded.files],
        "settings": [
            {"key": value.name, "value": value.value, "source": _source_json(value.source)}
            for value in effective(loaded)
        ],
    }


def _source_json(source: Source) -> Mapping[str, Any]:
    fields = {"kind": source.kind, "name": source.name, "line": source.line, "profile": source.profile}
    return {key: item for key, item in fields.items() if item}


def as_lines(loaded: Loaded) -> Iterator[str]:
    """One line a setting: `key = value  # source`."""
    rows = [
        (value.name, one_line(json.dumps(value.value, ensure_ascii=False)), str(value.source))
        for value in effective(loaded)
    ]
    name_width = min(44, max(len(name) for name, _, _ in rows))
    value_width = min(40, max(len(shown) for _, shown, _ in rows))
    for name, shown, source in rows:
        yield f"{one_line(name):<{name_width}} = {shown:<{value_width}}  # {one_line(source)}"


def config_files(environ: Mapping[str, str] | None = None, cwd: Path | None = None) -> list[ConfigFile]:
    """The files that settings come from, the strongest first."""
    environ = os.environ if environ is None else environ
    cwd = cwd or working_folder()
    shipped = ConfigFile("shipped", default_settings_file(), "read")
    try:
        folder = user_config_folder(environ)
    except NoHome:
        return [shipped]
    project = find_project(cwd)
    trusted = project is not None and TrustedFolders(folder).contains(project)
    state = "absent" if project is None else "read" if trusted else "not trusted"
    user = folder / FILE_NAME
    return [
        ConfigFile("project", (project or cwd) / PROJECT_FILE, state),
        ConfigFile("user", user, "read" if os.path.isfile(user) else "absent"),
        shipped,
    ]
