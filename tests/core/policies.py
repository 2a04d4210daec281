"""Policies for tests: a workspace that is a table of paths, and nobody to ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_chat.core.approval import ApprovalRequest
from agent_chat.core.modes import Mode
from agent_chat.core.observation import Effect
from agent_chat.core.permissions import Nobody, OnDenied, Person, RulePolicy
from agent_chat.core.rules import RuleVerdict, parse_rule

LINKS = {"link/secret.txt": None, "link-inside/a.py": "src/a.py"}


def resolve(path: str) -> str | None:
    """As the workspace does it, without a disk: absolute and climbing paths are outside."""
    if path in LINKS:
        return LINKS[path]
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return None if path.startswith(("/", "~")) else "/".join(parts) or "."


def policy(
    *,
    allow: Sequence[str] = (),
    ask: Sequence[str] = (),
    deny: Sequence[str] = (),
    mode: Mode = "ask",
    sandboxed: bool = False,
    on_denied: OnDenied = "continue",
    person: Person | None = None,
    remembered: list[str] | None = None,
) -> RulePolicy:
    kept: list[str] = [] if remembered is None else remembered
    groups: tuple[tuple[RuleVerdict, Sequence[str]], ...] = (("allow", allow), ("ask", ask), ("deny", deny))
    return RulePolicy(
        [parse_rule(text, verdict, "user", "config.yaml:1") for verdict, texts in groups for text in texts],
        person=person or Nobody(on_denied),
        resolve=resolve,
        mode=mode,
        sandboxed=sandboxed,
        on_denied=on_denied,
        remember=kept.append,
    )


def call(tool: str, effect: Effect, **arguments: Any) -> ApprovalRequest:
    return ApprovalRequest("c1", tool, arguments, effect)


def shell(command: str) -> ApprovalRequest:
    return call("shell", "execute", command=command)
