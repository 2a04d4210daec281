"""What is added to a request so that a small model calls tools well. Pure: a body in, a new body out."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
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
    untold: frozenset[str]
    """Tools that are not offered to a small model unless it is to call just that one."""
    examples: tuple[Example, ...]


def prepare(body: Mapping[str, Any]) -> Body:
    """The body as the embedded model wants it; `body` itself is left as it is.

    With tools offered: guidance is added to the system message, the example exchanges that use only tools of
    the request follow it, and the tools are told as briefly as they can be (see `_brief`). What is added
    depends on the tools alone, so the prefix stays the same from one request to the next. Without tools
    nothing is added.
    """
    prepared: Body = {"temperature": 0, "max_tokens": _DEFAULT_REPLY, **body}
    if prepared.get("max_completion_tokens"):
        prepared["max_tokens"] = prepared.pop("max_completion_tokens")
    tools = _offered(prepared)
    if not tools:
        prepared.pop("tools", None)
        return prepared
    offered = {_name(tool): tool for tool in tools}
    examples = _examples(offered)
    shown = _shown(examples)
    prepared["tools"] = [_brief(tool, shown.get(_name(tool))) for tool in tools]
    system, rest = _split(prepared["messages"])
    guidance = " ".join(
        line.text for line in _few_shot().guidance if line.tool is None or line.tool in offered
    )
    prepared["messages"] = [
        {"role": "system", "content": f"{system}\n\n{guidance}".strip()},
        *(message for number, example in enumerate(examples) for message in _as_messages(number, example)),
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
    held = {"lines_schema": {"anyOf": forms, "$defs": definitions}, "timings_per_token": True}
    return {**body, "tool_choice": "none", **held}


def _call_form(tool: Mapping[str, Any], definitions: dict[str, Any]) -> Mapping[str, Any]:
    """The schema of a call to `tool`; the `$defs` of its parameters go to `definitions`, renamed."""
    name = _name(tool)
    parameters = _held(tool["function"].get("parameters") or {"type": "object"}, f"#/$defs/{name}.")
    definitions |= {f"{name}.{key}": value for key, value in parameters.pop("$defs", {}).items()}
    return {
        "type": "object",
        "properties": {"name": {"const": name}, "arguments": parameters},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _held(value: Any, place: str) -> Any:
    """The schema with its references to its own definitions pointing to `place` instead, and without room
    for properties that it does not name: there a small model goes on for ever."""
    if isinstance(value, list):
        return [_held(item, place) for item in cast("list[Any]", value)]
    if not isinstance(value, Mapping):
        return value
    held = {
        key: item.replace("#/$defs/", place)
        if key == "$ref" and isinstance(item, str)
        else _held(item, place)
        for key, item in cast("Mapping[str, Any]", value).items()
    }
    if held.get("type") == "object" and "properties" in held:
        held.setdefault("additionalProperties", False)
    return held


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


def _examples(offered: Mapping[str, Mapping[str, Any]]) -> Sequence[Example]:
    """Those that fit the tools; none where no call is among them: they would only show how not to call."""
    fitting = [example for example in _few_shot().examples if _fits(example, offered)]
    return fitting if any(example.calls for example in fitting) else ()


def _fits(example: Example, offered: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether every call of the example could be made: to an offered tool, with its parameters."""
    return all(call.name in offered and _takes(offered[call.name], call) for call in example.calls)


def _takes(tool: Mapping[str, Any], call: ExampleCall) -> bool:
    parameters = tool["function"].get("parameters", {})
    required, known = parameters.get("required") or (), parameters.get("properties", {})
    return set(required) <= set(call.arguments) <= set(known)


def _shown(examples: Iterable[Example]) -> Mapping[str, set[str]]:
    """The tools in the examples, each with the parameters that are used there."""
    shown: dict[str, set[str]] = {}
    for example in examples:
        for call in example.calls:
            shown.setdefault(call.name, set()).update(call.arguments)
    return shown


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


def _offered(body: Body) -> Sequence[Mapping[str, Any]]:
    """The tools of the request that the model is told of."""
    match body.get("tool_choice"):
        case {"function": {"name": str(named)}}:
            pass
        case _:
            named = ""
    return [
        tool
        for tool in body.get("tools") or ()
        if _name(tool) == named or _name(tool) not in _few_shot().untold
    ]


def _brief(tool: Mapping[str, Any], shown: set[str] | None) -> Mapping[str, Any]:
    """What a small model is told of a tool: each token costs time, and takes attention from the others.

    The first sentence of its description, and its parameters. Of a tool that the examples show, those are
    the required ones and those in the examples, which explain them. Any other tool keeps all of its own,
    the required ones with the beginning of their descriptions. The call is held to this schema; whoever
    runs it validates against the whole one.
    """
    function = tool["function"]
    schema: Mapping[str, Any] = _compact(function.get("parameters") or {"type": "object", "properties": {}})
    required = set(schema.get("required") or ())
    properties = {
        name: _without_description(value, keep=shown is None and name in required)
        for name, value in schema.get("properties", {}).items()
        if shown is None or name in required | shown
    }
    brief = {"name": function["name"], "parameters": {**schema, "properties": properties}}
    if description := _first(_SENTENCE, function.get("description") or ""):
        brief["description"] = description
    return {"type": "function", "function": brief}


# Where a text stops when only its beginning is told.
_SENTENCE = re.compile(r"(?<=[.!?;])\s|\n")
_CLAUSE = re.compile(r"[.;,]\s|\n")


def _first(end: re.Pattern[str], text: str) -> str:
    return end.split(text.strip(), maxsplit=1)[0].rstrip(" ;,")


def _without_description(schema: Mapping[str, Any], *, keep: bool) -> Mapping[str, Any]:
    """The schema of a parameter; kept, its description is its first clause."""
    rest = {key: value for key, value in schema.items() if key not in ("description", "default")}
    description = _first(_CLAUSE, schema.get("description") or "") if keep else ""
    return {**rest, "description": description} if description else rest


def _compact(value: Any) -> Any:
    """A schema without titles and flags, which a small model does not use."""
    if isinstance(value, list):
        return [_compact(item) for item in cast("list[Any]", value)]
    if not isinstance(value, Mapping):
        return value
    return {
        key: _compact(item)
        for key, item in cast("Mapping[str, Any]", value).items()
        # A property may be called "title": its value is a schema, not a text.
        if not (key == "title" and isinstance(item, str))
        and key != "strict"
        and (key, item) != ("additionalProperties", False)
    }


@cache
def _few_shot() -> FewShot:
    text = files("agent_chat.local").joinpath("few_shot.yaml").read_text(encoding="utf-8")
    return FewShot.model_validate(yaml.safe_load(text))
