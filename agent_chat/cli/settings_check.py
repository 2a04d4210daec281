"""Checks a tree of settings and says what is wrong, where, and what was probably meant."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from agent_chat.cli.settings import Settings
from agent_chat.cli.settings_fields import TOP_LEVEL, nearest, section_keys, suggest
from agent_chat.cli.settings_file import Mistake
from agent_chat.cli.settings_tree import Node
from agent_chat.core.errors import UserError
from agent_chat.core.rules import VERDICTS, parse_rule
from agent_chat.models.secret import clean_header

SHOWN = 5
"""Mistakes that are told at once."""


def check(root: Node) -> tuple[list[Mistake], list[str]]:
    """The mistakes of one layer, and warnings about what is left aside."""
    mistakes: list[Mistake] = []
    warnings: list[str] = []
    if not isinstance(root.value, dict):
        found = _describe(root.plain())
        return [Mistake(root.source, f"expected 'key: value' lines, found {found}")], []
    known: dict[str, Node] = {}
    for key, node in root.value.items():
        if key in TOP_LEVEL:
            known[key] = node
            continue
        meant = suggest(key, ())
        if meant:
            mistakes.append(Mistake(node.source, f"unknown key {_quoted(key)}. {meant}"))
        else:
            warnings.append(f"{node.source.exact}: unknown key {_quoted(key)} is ignored")
    tree = Node(known, root.source)
    mistakes += _mistakes(tree.plain(), tree)
    agent = tree.child("agent")
    if agent is not None:
        mistakes += _header_mistakes(agent)
        mistakes += _rule_mistakes(agent)
        mistakes += _profile_mistakes(agent, tree)
    return mistakes, warnings


def _profile_mistakes(agent: Node, tree: Node) -> list[Mistake]:
    profiles = agent.child("profiles")
    mistakes: list[Mistake] = []
    for name, profile in profiles.entries() if profiles is not None else ():
        mistakes += _mistakes({"agent": profile.plain()}, tree, ("agent", "profiles", name))
        mistakes += _header_mistakes(profile)
        mistakes += _rule_mistakes(profile)
        inner = profile.child("profiles")
        if inner is not None:
            mistakes.append(Mistake(inner.source, "a profile cannot hold profiles"))
    return mistakes


def _header_mistakes(agent: Node) -> list[Mistake]:
    """Headers that cannot be sent, said here because here the place is known."""
    request = agent.child("request")
    headers = request.child("headers") if request is not None else None
    mistakes: list[Mistake] = []
    for name, node in headers.entries() if headers is not None else ():
        try:
            clean_header(name, node.value if isinstance(node.value, str) else "")
        except UserError as error:
            mistakes.append(Mistake(node.source, error.message))
    return mistakes


def _rule_mistakes(agent: Node) -> list[Mistake]:
    """Rules of what may run that cannot be read: found out now, not when the first call comes."""
    permissions = agent.child("permissions")
    mistakes: list[Mistake] = []
    for verdict in VERDICTS:
        rules = permissions.child(verdict) if permissions is not None else None
        for node in rules.value if rules is not None and isinstance(rules.value, list) else ():
            if not isinstance(node.value, str) or not node.value:
                continue
            try:
                parse_rule(node.value, verdict, "user")
            except ValueError as error:
                mistakes.append(Mistake(node.source, str(error)))
    return mistakes


def _mistakes(plain: Any, tree: Node, place: tuple[str, ...] = ()) -> list[Mistake]:
    """What is wrong with these values. `place`: where their `agent` stands, when it is not the tree's own."""
    try:
        Settings.model_validate(plain)
    except ValidationError as error:
        return [_mistake(details, tree, place) for details in error.errors(include_url=False)]
    return []


def _mistake(details: ErrorDetails, tree: Node, place: tuple[str, ...]) -> Mistake:
    path = (*place, *details["loc"][1:]) if place else details["loc"]
    source = tree.source_at(path)
    key = str(path[-1]) if path else ""
    dotted = ".".join(str(step) for step in path)
    if details["type"] == "extra_forbidden":
        parents = tuple(str(step) for step in path[:-1])
        meant = suggest(key, parents)
        known = "" if meant else f" Known there: {', '.join(section_keys(parents))}."
        return Mistake(
            source, f"unknown key {_quoted(key)} in '{'.'.join(parents)}'. {meant}{known}".rstrip()
        )
    if details["type"] == "missing":
        return Mistake(source, f"'{dotted}' is missing")
    return Mistake(source, f"'{dotted}' {_problem(details)}")


_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "tuple_type": "a list",
    "list_type": "a list",
    "model_type": "a mapping ('key: value' lines)",
    "model_attributes_type": "a mapping ('key: value' lines)",
    "dict_type": "a mapping ('key: value' lines)",
    "mapping_type": "a mapping ('key: value' lines)",
}


def _problem(details: ErrorDetails) -> str:
    context: Mapping[str, Any] = details.get("ctx", {})
    value: Any = details["input"]
    secret = is_secret(str(details["loc"][-1])) if details["loc"] else False
    found = _kind(value) if secret else _describe(value)
    kind = details["type"]
    match kind:
        case "literal_error":
            choices = [
                choice.strip("'") for choice in str(context["expected"]).replace(" or ", ", ").split(", ")
            ]
            near = nearest(str(value), choices)
            hint = f". Did you mean '{near}'?" if near else ""
            return f"must be one of {', '.join(choices)}; found {found}{hint}"
        case "greater_than_equal":
            return f"must be at least {context['ge']:,g}; found {found}"
        case "greater_than":
            return f"must be more than {context['gt']:,g}; found {found}"
        case "less_than_equal":
            return f"must be at most {context['le']:,g}; found {found}"
        case "finite_number":
            return f"must be a finite number; found {found}"
        case "string_too_short":
            return "must not be empty"
        case _ if kind in _EXPECTED:
            quotes = "; put it in quotes" if kind == "string_type" and isinstance(value, int | float) else ""
            return f"must be {_EXPECTED[kind]}; found {found}{quotes}"
        case _:
            return f"is not right: {details['msg']}; found {found}"


def _kind(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case Mapping():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case _:
            return type(value).__name__  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _describe(value: Any) -> str:
    match value:
        case bool() | int() | float():
            return json.dumps(value)
        case str():
            return f"text {_quoted(value)}"
        case _:
            return _kind(value)


def _quoted(text: str) -> str:
    """Short, and without anything that a terminal could obey."""
    short = text if len(text) <= 40 else text[:39] + "…"
    return "'" + "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in short) + "'"


_SECRET_WORDS = frozenset(
    ("key", "token", "secret", "password", "passwd", "credential", "credentials", "authorization")
)


def is_secret(key: str) -> bool:
    """Whether a value under this key is one that nobody may see."""
    words = key.lower().replace("-", "_").split("_")
    if key.lower().endswith(("apikey", "accesskey")):
        return True
    return not _SECRET_WORDS.isdisjoint(words)
