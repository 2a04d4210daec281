"""Arguments that do not fit, explained to the model that wrote them."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic_core import ErrorDetails

MAX_RECEIVED = 80
MAX_PROBLEMS = 5
"""More than a model repairs at once."""

_WRONG_KIND = ("_type", "_parsing", "_from_float", "literal_error", "enum", "_unicode")


def explain(details: Sequence[ErrorDetails], arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """One line: each parameter that is wrong, what is expected, and what was received."""
    properties: Mapping[str, Any] = schema["properties"]
    by_parameter: dict[str, list[ErrorDetails]] = {}
    for detail in details:
        by_parameter.setdefault(str(detail["loc"][0]) if detail["loc"] else "", []).append(detail)
    problems = [
        _problem(name, found, arguments, properties)
        for name, found in list(by_parameter.items())[:MAX_PROBLEMS]
    ]
    if len(by_parameter) > MAX_PROBLEMS:
        problems.append(f"{len(by_parameter) - MAX_PROBLEMS} more problems")
    if any(detail["type"] == "extra_forbidden" and len(detail["loc"]) == 1 for detail in details):
        problems.append(_signature(schema))
    return "; ".join(problems) + "."


def _problem(
    name: str, details: list[ErrorDetails], arguments: Mapping[str, Any], properties: Mapping[str, Any]
) -> str:
    first = details[0]
    if first["type"] == "extra_forbidden" and len(first["loc"]) == 1:
        near = difflib.get_close_matches(name, list(properties), n=1, cutoff=0.5)
        return f"unknown parameter {name!r}" + (f" (did you mean {near[0]!r}?)" if near else "")
    shape: Mapping[str, Any] = properties.get(name, {})
    if first["type"] == "missing" and len(first["loc"]) == 1:
        return f"parameter {name!r} is missing: expected {kind(shape)}"
    variants = len(details) > 1 and "anyOf" in shape
    if variants or (len(first["loc"]) == 1 and first["type"].endswith(_WRONG_KIND)):
        return f"parameter {name!r}: expected {kind(shape)}, received {_received(arguments.get(name))}"
    place = name + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"][1:])
    if first["type"] == "missing":
        return f"parameter {place!r} is missing"
    return f"parameter {place!r}: {_rule(first['msg'])}, received {_received(first['input'])}"


def kind(shape: Mapping[str, Any]) -> str:
    """A schema in a few words."""
    if "enum" in shape:
        return "one of " + ", ".join(json.dumps(value, ensure_ascii=False) for value in shape["enum"])
    if "const" in shape:
        return json.dumps(shape["const"], ensure_ascii=False)
    if "anyOf" in shape:
        return " or ".join(dict.fromkeys(kind(variant) for variant in shape["anyOf"]))
    match shape.get("type"):
        case "array":
            items = cast("Mapping[str, Any]", shape.get("items") or {})
            return f"a list of: {kind(items)}" if items else "a list"
        case "integer":
            return "a whole number"
        case "number":
            return "a number"
        case "boolean":
            return "true or false"
        case "string":
            return f"text ({shape['format']})" if "format" in shape else "text"
        case "object":
            return "an object"
        case "null":
            return "null"
        case _:
            return "a value"


def _rule(message: str) -> str:
    message = message.removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return message.replace("Input should", "should", 1)


def _received(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True, default=repr)
    return text if len(text) <= MAX_RECEIVED else f"{text[:MAX_RECEIVED]}…"


def _signature(schema: Mapping[str, Any]) -> str:
    required: Sequence[str] = schema.get("required", ())
    names = [f"{name} (required)" if name in required else name for name in schema["properties"]]
    return f"the parameters are: {', '.join(names)}" if names else "the tool takes no parameters"
