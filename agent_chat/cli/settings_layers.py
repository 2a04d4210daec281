"""Where settings come from besides files: environment variables and options, each as a tree of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agent_chat.cli.settings_fields import (
    MODEL_ALIAS,
    TOP_LEVEL,
    VARIABLE_PREFIX,
    find_field,
    nearest,
    setting_fields,
)
from agent_chat.cli.settings_file import Mistake, parse_value
from agent_chat.cli.settings_normal import over
from agent_chat.cli.settings_tree import Node, Source, at, from_plain, mapping, merged

CONFIG_VARIABLE = VARIABLE_PREFIX + "CONFIG"
PROFILE_VARIABLE = VARIABLE_PREFIX + "PROFILE"
NO_SETTINGS = frozenset(VARIABLE_PREFIX + name for name in ("DEBUG", "MODELS_DIR", "STATE_DIR", "VENV"))
"""Variables of ours that are no settings."""


@dataclass(frozen=True, slots=True)
class Options:
    """The shared options that are settings. None and empty mean: not given."""

    config: str | None = None
    """`--config`: this file instead of the user's and the project's."""
    profile: str | None = None
    """`--profile`."""
    sets: tuple[str, ...] = ()
    """`-C`/`--set`, in order, each `KEY=VALUE`."""
    model: str | None = None
    api_base: str | None = None
    fallbacks: tuple[str, ...] = ()
    system: str | None = None
    tools: tuple[str, ...] = ()
    """`-t`/`--tool`: these and no others."""
    no_tools: bool = False
    max_iterations: int | None = None
    max_tool_calls: int | None = None
    max_tokens_total: int | None = None
    max_cost: float | None = None
    max_time: float | None = None
    allow: tuple[str, ...] = ()
    """`--allow`, each a rule."""
    deny: tuple[str, ...] = ()
    mode: str | None = None
    no_session: bool = False
    color: str | None = None


def option_layer(options: Options) -> tuple[Node, list[Mistake]]:
    """Dedicated options win over `--set`, a later `--set` over an earlier one."""
    root = mapping()
    mistakes: list[Mistake] = []
    for text in options.sets:
        source = Source("option", f"--set {text.partition('=')[0]}")
        try:
            root = over(root, _set(text, source))
        except ValueError as error:
            mistakes.append(Mistake(source, str(error)))
    for option, path, value in _given(options):
        root = over(root, at(("agent", *path), from_plain(value, Source("option", option))))
    return root, mistakes


def _given(options: Options) -> list[tuple[str, tuple[str, ...], object]]:
    turn = ("limits", "turn")
    values: list[tuple[str, tuple[str, ...], object]] = [
        ("--model", MODEL_ALIAS, options.model),
        ("--api-base", ("api_base",), options.api_base),
        ("--fallback", ("fallbacks",), options.fallbacks or None),
        ("--system", ("system",), options.system),
        ("--tool", ("tools", "allow"), options.tools or None),
        ("--no-tools", ("tools", "allow"), () if options.no_tools else None),
        ("--max-iterations", (*turn, "max_iterations"), options.max_iterations),
        ("--max-tool-calls", (*turn, "max_tool_calls"), options.max_tool_calls),
        ("--max-tokens-total", (*turn, "max_tokens"), options.max_tokens_total),
        ("--max-cost", (*turn, "max_cost"), options.max_cost),
        ("--max-time", (*turn, "max_time"), options.max_time),
        ("--allow", ("permissions", "allow"), options.allow or None),
        ("--deny", ("permissions", "deny"), options.deny or None),
        ("--mode", ("permissions", "mode"), options.mode),
        ("--no-session", ("session", "keep"), False if options.no_session else None),
        ("--color", ("display", "color"), options.color),
    ]
    return [(option, path, value) for option, path, value in values if value is not None]


def environment_layer(environ: Mapping[str, str]) -> tuple[Node, list[Mistake], list[str]]:
    """`AGENT_CHAT_` and the path below `agent` in capitals: `AGENT_CHAT_LIMITS_TURN_MAX_ITERATIONS`.

    An empty variable counts as unset. One that is nearly a setting is warned about; others are not ours.
    """
    root = mapping()
    mistakes: list[Mistake] = []
    warnings: list[str] = []
    paths = {field.variable: field.path for field in setting_fields()}
    paths[VARIABLE_PREFIX + "MODEL"] = MODEL_ALIAS
    known = (*paths, CONFIG_VARIABLE, PROFILE_VARIABLE)
    for variable in sorted(name for name in environ if name.startswith(VARIABLE_PREFIX)):
        value = environ[variable]
        if variable in NO_SETTINGS:
            continue
        if variable not in known:
            near = _nearest_variable(variable, known)
            if near is not None:
                warnings.append(f"{variable} is ignored: there is no such setting. Did you mean {near}?")
            continue
        if variable not in paths or not value.strip():
            continue
        path = paths[variable]
        source = Source("environment", variable)
        try:
            root = merged(root, at(("agent", *path), value_at(path, value, source)))
        except ValueError as error:
            mistakes.append(Mistake(source, str(error)))
    return root, mistakes, warnings


def _nearest_variable(variable: str, known: tuple[str, ...]) -> str | None:
    names = {name.removeprefix(VARIABLE_PREFIX).lower(): name for name in known}
    near = nearest(variable.removeprefix(VARIABLE_PREFIX), names)
    return names[near] if near else None


def _set(text: str, source: Source) -> Node:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ValueError("write KEY=VALUE, such as --set limits.turn.max_iterations=20")
    path = tuple(step.strip() for step in key.strip().split("."))
    if not all(path):
        raise ValueError(f"'{key}' is no key: write its parts with single dots between them")
    path = path if path[0] in TOP_LEVEL else ("agent", *path)
    return at(path, value_at(path[1:] if path[0] == "agent" else None, value, source))


def value_at(path: tuple[str, ...] | None, text: str, source: Source) -> Node:
    """The value that `text` stands for at a path below `agent` (None: outside of it). Raises ValueError.

    Text settings take it as it is, lists also as `a, b`, everything else is read as YAML.
    """
    field = find_field(path) if path is not None else None
    if field is not None and field.kind == "text":
        return Node(None if text in ("null", "~") else text, source)
    node = parse_value(text, source)
    if field is not None and field.kind == "list" and isinstance(node.value, str):
        return from_plain([item.strip() for item in node.value.split(",") if item.strip()], source)
    return node
