"""What a project's file may say: it chooses and narrows, it never widens what the user allowed."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

from agent_chat.cli.settings_file import Mistake
from agent_chat.cli.settings_tree import Node, merged
from agent_chat.core.modes import NARROWEST_FIRST

_REFUSED: dict[tuple[str, ...], str] = {
    ("api_base",): "it would choose where your messages and keys go",
    ("request", "headers"): "it would be sent along with your keys",
    ("tools", "web"): "it would choose where tools can reach, and who sees what is searched for",
    ("instructions",): "whether instruction files are read is yours to say",
    ("profiles",): "profiles are yours alone",
}

_CHOICES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("mode", NARROWEST_FIRST, "ask"),
    ("on_denied", ("stop", "continue"), "continue"),
)
"""Permissions that are one of several words: the narrowest first, and what is built in."""


def check_project(root: Node, folder: Path) -> list[Mistake]:
    """What the project's file says and may not."""
    if not isinstance(root.value, dict):
        return []
    advice = "put it into your own configuration, or name this file with --config"
    mistakes = [
        Mistake(node.source, f"'{key}' cannot be set by a project: {advice}")
        for key, node in root.value.items()
        if key != "agent"
    ]
    agent = root.child("agent")
    if agent is None:
        return mistakes
    for path, reason in _REFUSED.items():
        source = agent.written(path)
        if source is not None:
            name = ".".join(("agent", *path))
            mistakes.append(Mistake(source, f"'{name}' cannot be set by a project ({reason}): {advice}"))
    for path, leaf in agent.leaves():
        items = leaf.value if isinstance(leaf.value, list) else [leaf]
        if path[0] in ("roles", "model", "fallbacks") and any("://" in str(item.value) for item in items):
            mistakes.append(Mistake(leaf.source, f"a project cannot choose a model by its address: {advice}"))
    system_file = agent.child("system_file")
    if system_file is not None and isinstance(system_file.value, str):
        inside = Path(system_file.value).resolve().is_relative_to(folder.resolve())
        if not inside:
            mistakes.append(Mistake(system_file.source, f"'system_file' must be inside {folder}"))
    return mistakes


def narrowed(low: Node, project: Node) -> tuple[Node, list[str]]:
    """The project's settings laid over `low`, where they do not widen it; and what was left aside."""
    warnings: list[str] = []
    agent = project.child("agent")
    if agent is None or not isinstance(agent.value, dict):
        return low, warnings
    entries = dict(agent.value)
    below = low.child("agent") or Node({})
    if "limits" in entries:
        entries["limits"] = _lowered(below.child("limits"), entries["limits"], warnings, "agent.limits")
    tools = entries.get("tools")
    if tools is not None and isinstance(tools.value, dict) and "allow" in tools.value:
        allowed = _allowed(below, tools.value["allow"], warnings)
        entries["tools"] = Node({**tools.value, "allow": allowed}, tools.source)
    permissions = entries.get("permissions")
    if permissions is not None and isinstance(permissions.value, dict):
        entries["permissions"] = _restricted(below.child("permissions"), permissions, warnings)
    return merged(low, Node({"agent": Node(entries, agent.source)}, project.source)), warnings


def _restricted(low: Node | None, wanted: Node, warnings: list[str]) -> Node:
    """The project's permissions without what would let more run."""
    entries = dict(wanted.value) if isinstance(wanted.value, dict) else {}
    allow = entries.pop("allow", None)
    rules = allow.value if allow is not None and isinstance(allow.value, list) else ()
    warnings.extend(
        f"{node.source.exact}: the rule '{node.value}' stays off: a project can ask and deny, not allow"
        for node in rules
    )
    for key, narrowest_first, default in _CHOICES:
        chosen = entries.get(key)
        if chosen is None:
            continue
        held = low.child(key) if low is not None else None
        present = str(held.value) if held is not None else default
        known = chosen.value in narrowest_first and present in narrowest_first
        if not known or narrowest_first.index(str(chosen.value)) <= narrowest_first.index(present):
            continue
        del entries[key]
        warnings.append(
            f"{chosen.source.exact}: agent.permissions.{key} stays {present}: "
            f"a project cannot choose {chosen.value}, which lets more run"
        )
    return Node(entries, wanted.source)


def _lowered(low: Node | None, high: Node, warnings: list[str], name: str) -> Node:
    if isinstance(high.value, dict):
        return Node(
            {
                key: _lowered(low.child(key) if low is not None else None, node, warnings, f"{name}.{key}")
                for key, node in high.value.items()
            },
            high.source,
        )
    bound = low.value if low is not None else None
    if low is None or not isinstance(bound, int | float):
        return high
    if isinstance(high.value, int | float) and high.value <= bound:
        return high
    warnings.append(f"{high.source.exact}: {name} stays {bound}: a project can lower a limit, not raise it")
    return low


def _allowed(agent: Node, wanted: Node, warnings: list[str]) -> Node:
    tools = agent.child("tools")
    allow = tools.child("allow") if tools is not None else None
    if allow is None or not isinstance(allow.value, list) or not isinstance(wanted.value, list):
        return wanted
    permitted = {node.value for node in allow.value if isinstance(node.value, str)}
    kept: list[Node] = []
    for node in wanted.value:
        if any(fnmatchcase(str(node.value), name) for name in permitted):
            kept.append(node)
        else:
            warnings.append(
                f"{node.source.exact}: the tool '{node.value}' stays off: a project cannot allow it"
            )
    return Node(kept, wanted.source)
