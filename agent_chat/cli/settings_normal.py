"""Brings a layer into its normal form before layers are laid over each other."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from agent_chat.cli.settings import Settings
from agent_chat.cli.settings_fields import section_keys
from agent_chat.cli.settings_file import Mistake
from agent_chat.cli.settings_tree import Node, at, merged

_PROMPT = ("system", "system_file")
_ADDED = ("allow", "ask", "deny")
"""Lists below `agent.permissions` that add up: no layer takes another one's rules away."""


def normal(root: Node, base: Path) -> tuple[Node, list[Mistake]]:
    """The same settings with short forms written out, paths absolute (from `base`), empty sections gone."""
    mistakes: list[Mistake] = []
    if root.value is None:
        return Node({}, root.source), mistakes
    if not isinstance(root.value, dict):
        return root, mistakes
    entries = {key: node for key, node in root.value.items() if not _is_empty(key, node)}
    agent = entries.get("agent")
    if agent is not None:
        agent = _normal_agent(_without_empty(agent, ("agent",)), base, mistakes)
        profiles = agent.child("profiles")
        if profiles is not None and isinstance(profiles.value, dict) and isinstance(agent.value, dict):
            each = {name: _normal_agent(node, base, mistakes) for name, node in profiles.value.items()}
            agent = Node({**agent.value, "profiles": Node(each, profiles.source)}, agent.source)
        entries["agent"] = agent
    return Node(entries, root.source), mistakes


def over(low: Node, high: Node) -> Node:
    """`high` laid over `low`, as `merged`; a system prompt in `high` replaces either kind of one in `low`.

    Rules of what may run are added to those in `low`.
    """
    high = _with_rules_of(low, high)
    agent, above = low.child("agent"), high.child("agent")
    if agent is None or above is None or all(above.child(key) is None for key in _PROMPT):
        return merged(low, high)
    for key in _PROMPT:
        agent = _without(agent, key)
    return merged(merged(_without(low, "agent"), Node({"agent": agent}, low.source)), high)


def _with_rules_of(low: Node, high: Node) -> Node:
    """`high` with the rules of `low` before its own."""
    agent = high.child("agent")
    above = agent.child("permissions") if agent is not None else None
    below = (low.child("agent") or Node({})).child("permissions")
    if agent is None or above is None or below is None or not isinstance(above.value, dict):
        return high
    entries = dict(above.value)
    for key in _ADDED:
        earlier, later = below.child(key), entries.get(key)
        if earlier is None or later is None:
            continue
        if isinstance(earlier.value, list) and isinstance(later.value, list):
            new = [node for node in later.value if node not in earlier.value]
            entries[key] = Node([*earlier.value, *new], later.source)
    permissions = Node({"permissions": Node(entries, above.source)}, agent.source)
    return merged(high, Node({"agent": permissions}, high.source))


def _normal_agent(agent: Node, base: Path, mistakes: list[Mistake]) -> Node:
    if not isinstance(agent.value, dict):
        return agent
    entries = dict(agent.value)
    model = entries.pop("model", None)
    if model is not None:
        roles = entries.get("roles")
        main = roles.child("main") if roles is not None else None
        if main is not None:
            text = f"'model' is short for 'roles.main', which is set on line {main.source.line} too: keep one"
            mistakes.append(Mistake(model.source, text))
        entries["roles"] = merged(roles, at(("main",), model))
    if all(key in entries for key in _PROMPT):
        text = "'system' and 'system_file' are both set: keep one"
        mistakes.append(Mistake(entries["system_file"].source, text))
    file = entries.get("system_file")
    if file is not None and isinstance(file.value, str) and file.value:
        path = os.path.join(base, os.path.expanduser(file.value))
        entries["system_file"] = replace(file, value=os.path.normpath(path))
    return Node(entries, agent.source)


def _is_empty(key: str, node: Node) -> bool:
    """Whether this is a section whose lines are all commented out."""
    return node.value is None and key in Settings.model_fields


def _without_empty(node: Node, path: tuple[str, ...]) -> Node:
    if not isinstance(node.value, dict):
        return node
    entries: dict[str, Node] = {}
    for key, item in node.value.items():
        below = (*path, key)
        if item.value is None and (section_keys(below) or below == ("agent", "profiles")):
            continue
        entries[key] = _without_empty(item, below)
    return Node(entries, node.source)


def _without(node: Node, key: str) -> Node:
    entries = node.value if isinstance(node.value, dict) else {}
    return Node({name: item for name, item in entries.items() if name != key}, node.source)
