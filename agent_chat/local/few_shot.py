"""What is added to a request so that a small model calls tools well. Pure: a body in, a new body out."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, cast

import yaml
from pydantic import BaseModel, ConfigDict

Body = dict[str, Any]
Message = Mapping[str, Any]

_DEFAULT_REPLY = 2048
"""Tokens of a reply when the request sets no limit: a small model can go on for ever."""


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Guidance(_Value):
    """A line for the system message; with `tool`, only where that tool is offered."""

    text: str
    tool: str | None = None


class ExampleCall(_Value):
    name: str
    arguments: dict[str, str]
    result: str


class Example(_Value):
    """One exchange: what the user says, the calls it takes, and the answer from their results."""

    user: str
    calls: tuple[ExampleCall, ...] = ()
    answer: str


class FewShot(_Value):
    guidance: tuple[Guidance, ...]
    examples: tuple[Example, ...]


def prepare(body: Mapping[str, Any]) -> Body:
    """The body as the embedded model wants it; `body` itself is left as it is.

    With tools offered: guidance is added to the system message, the example exchanges that use only tools of
    the request follow it, and the schemas lose what a small model does not read. What is added depends on the
    tools alone, so the prefix stays the same from one request to the next. Without tools nothing is added.
    """
    prepared: Body = {"temperature": 0, "max_tokens": _DEFAULT_REPLY, **body}
    if prepared.get("max_completion_tokens"):
        prepared["max_tokens"] = prepared.pop("max_completion_tokens")
    tools: Sequence[Mapping[str, Any]] = prepared.get("tools") or ()
    if not tools:
        return prepared
    prepared["tools"] = [_compact(tool) for tool in tools]
    offered = {_name(tool): _parameters(tool) for tool in tools}
    system, rest = _split(prepared["messages"])
    guidance = " ".join(
        line.text for line in _few_shot().guidance if line.tool is None or line.tool in offered
    )
    prepared["messages"] = [
        {"role": "system", "content": f"{system}\n\n{guidance}".strip()},
        *_exchanges(offered),
        *rest,
    ]
    return _narrowed(prepared)


def in_words(body: Body) -> Body:
    """The same request once more, to be answered without calls. The prefix stays, so it costs little."""
    nudge = {"role": "user", "content": "Answer now in plain words, from what is known above."}
    return {**body, "messages": [*body["messages"], nudge], "tool_choice": "none"}


def shared_prefix(body: Mapping[str, Any]) -> Body:
    """A request whose prompt is what every request with these tools and this system message begins with."""
    system = [message for message in body["messages"][:1] if message.get("role") == "system"]
    return prepare({**body, "messages": [*system, {"role": "user", "content": "?"}]})


def calls_only(body: Body) -> Body:
    """The same request, to be answered with calls: one a line, each held to the schema of its tool."""
    definitions: dict[str, Any] = {}
    forms = [_call_form(tool, definitions) for tool in body["tools"]]
    return {**body, "tool_choice": "none", "lines_schema": {"anyOf": forms, "$defs": definitions}}


def _call_form(tool: Mapping[str, Any], definitions: dict[str, Any]) -> Mapping[str, Any]:
    """The schema of a call to `tool`; the `$defs` of its parameters go to `definitions`, renamed."""
    name = _name(tool)
    parameters = _referring(tool["function"].get("parameters") or {"type": "object"}, f"#/$defs/{name}.")
    definitions |= {f"{name}.{key}": value for key, value in parameters.pop("$defs", {}).items()}
    return {
        "type": "object",
        "properties": {"name": {"const": name}, "arguments": parameters},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _referring(value: Any, place: str) -> Any:
    """The schema with its references to its own definitions pointing to `place` instead."""
    if isinstance(value, list):
        return [_referring(item, place) for item in cast("list[Any]", value)]
    if not isinstance(value, Mapping):
        return value
    return {
        key: item.replace("#/$defs/", place)
        if key == "$ref" and isinstance(item, str)
        else _referring(item, place)
        for key, item in cast("Mapping[str, Any]", value).items()
    }


def offered_names(body: Mapping[str, Any]) -> frozenset[str]:
    """The names of the tools that the model may call in reply to this request."""
    if body.get("tool_choice") == "none":
        return frozenset()
    return frozenset(_name(tool) for tool in body.get("tools") or ())


def _narrowed(body: Body) -> Body:
    """A named `tool_choice` as that tool only, required."""
    match body.get("tool_choice"):
        case {"function": {"name": name}}:
            tools = [tool for tool in body["tools"] if _name(tool) == name]
            return {**body, "tools": tools, "tool_choice": "required"}
        case _:
            return body


def _split(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    if messages and messages[0].get("role") == "system":
        return _text(messages[0].get("content")), messages[1:]
    return "", messages


def _text(content: str | list[dict[str, Any]] | None) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return content or ""


def _exchanges(offered: Mapping[str, set[str]]) -> list[Message]:
    messages: list[Message] = []
    for number, example in enumerate(_few_shot().examples):
        if all(
            call.name in offered and offered[call.name].issuperset(call.arguments) for call in example.calls
        ):
            messages += _as_messages(number, example)
    return messages


def _as_messages(number: int, example: Example) -> list[Message]:
    calls = [(f"example_{number}_{position}", call) for position, call in enumerate(example.calls)]
    messages: list[Message] = [{"role": "user", "content": example.user}]
    if calls:
        messages.append(
            {"role": "assistant", "content": "", "tool_calls": [_as_call(*call) for call in calls]}
        )
        messages += [{"role": "tool", "tool_call_id": id_, "content": call.result} for id_, call in calls]
    return [*messages, {"role": "assistant", "content": example.answer}]


def _as_call(id_: str, call: ExampleCall) -> Message:
    return {
        "id": id_,
        "type": "function",
        "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
    }


def _name(tool: Mapping[str, Any]) -> str:
    return tool["function"]["name"]


def _parameters(tool: Mapping[str, Any]) -> set[str]:
    return set(tool["function"].get("parameters", {}).get("properties", {}))


def _compact(value: Any) -> Any:
    """A tool's schema without titles and closing flags: a small model pays for them and does not use them."""
    if isinstance(value, list):
        return [_compact(item) for item in cast("list[Any]", value)]
    if not isinstance(value, Mapping):
        return value
    return {
        key: _compact(item)
        for key, item in cast("Mapping[str, Any]", value).items()
        # A property may be called "title": its value is a schema, not a text.
        if key not in ("additionalProperties", "strict") and not (key == "title" and isinstance(item, str))
    }


@cache
def _few_shot() -> FewShot:
    text = files("agent_chat.local").joinpath("few_shot.yaml").read_text(encoding="utf-8")
    return FewShot.model_validate(yaml.safe_load(text))
