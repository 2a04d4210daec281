"""What is added to a request so that a small model calls tools well. Pure: a body in, a new body out."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

Body = dict[str, Any]
Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ExampleCall:
    name: str
    arguments: Mapping[str, object]
    result: str


@dataclass(frozen=True, slots=True)
class Example:
    """One exchange: what the user says, the calls it takes, and the answer from their results."""

    user: str
    calls: tuple[ExampleCall, ...]
    answer: str


def prepare(body: Mapping[str, Any]) -> Body:
    """The body as the embedded model wants it; `body` itself is left as it is.

    With tools offered: guidance is added to the system message, the example exchanges that use only tools of
    the request follow it, and the schemas lose what a small model does not read. What is added depends on the
    tools alone, so the prefix stays the same from one request to the next. Without tools nothing is added.
    """
    prepared: Body = {"temperature": 0, "cache_prompt": True, **body}
    tools: Sequence[Mapping[str, Any]] = prepared.get("tools") or ()
    if not tools:
        return prepared
    prepared["tools"] = [_compact(tool) for tool in tools]
    system, rest = _split(prepared["messages"])
    prepared["messages"] = [
        {"role": "system", "content": f"{system}\n\n{_guidance()}".strip()},
        *_exchanges(tools),
        *rest,
    ]
    prepared.setdefault("parallel_tool_calls", True)
    return _narrowed(prepared)


def _narrowed(body: Body) -> Body:
    """A named `tool_choice`, which llama.cpp passes over, said in the way it keeps: that tool only, required."""
    match body.get("tool_choice"):
        case {"function": {"name": name}}:
            tools = [tool for tool in body["tools"] if tool["function"]["name"] == name]
            return {**body, "tools": tools, "tool_choice": "required"}
        case _:
            return body


def _split(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    if messages and messages[0].get("role") == "system":
        return _text(messages[0].get("content")), messages[1:]
    return "", messages


def _text(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return str(content or "")


def _exchanges(tools: Iterable[Mapping[str, Any]]) -> list[Message]:
    offered = {tool["function"]["name"]: _parameters(tool) for tool in tools}
    messages: list[Message] = []
    for number, example in enumerate(_examples()):
        if all(call.name in offered and call.arguments.keys() <= offered[call.name] for call in example.calls):
            messages += _as_messages(number, example)
    return messages


def _parameters(tool: Mapping[str, Any]) -> set[str]:
    return set(tool["function"].get("parameters", {}).get("properties", {}))


def _as_messages(number: int, example: Example) -> list[Message]:
    ids = [f"example_{number}_{position}" for position in range(len(example.calls))]
    messages: list[Message] = [{"role": "user", "content": example.user}]
    if example.calls:
        calls = [
            {"id": id_, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
            for id_, call in zip(ids, example.calls, strict=True)
        ]
        messages.append({"role": "assistant", "content": "", "tool_calls": calls})
        messages += [
            {"role": "tool", "tool_call_id": id_, "content": call.result}
            for id_, call in zip(ids, example.calls, strict=True)
        ]
    return [*messages, {"role": "assistant", "content": example.answer}]


def _compact(value: Any) -> Any:
    """A tool's schema without titles and closing flags: tokens that a small model pays for and does not use."""
    if isinstance(value, Mapping):
        kept = {key: _compact(item) for key, item in value.items() if key not in ("additionalProperties", "strict")}
        if isinstance(kept.get("title"), str):
            del kept["title"]
        return kept
    if isinstance(value, list):
        return [_compact(item) for item in value]
    return value


def in_words(body: Body) -> Body:
    """The same request once more, to be answered without calls. The prefix stays, so it costs little."""
    nudge = {"role": "user", "content": "Answer now in plain words, from what is known above."}
    return {**body, "messages": [*body["messages"], nudge], "tool_choice": "none"}


def offered_names(body: Mapping[str, Any]) -> frozenset[str]:
    """The names of the tools that the model may call in reply to this request."""
    if body.get("tool_choice") == "none":
        return frozenset()
    return frozenset(tool["function"]["name"] for tool in body.get("tools") or ())


@cache
def _guidance() -> str:
    return files("agent_chat.local").joinpath("guidance.md").read_text(encoding="utf-8").strip()


@cache
def _examples() -> tuple[Example, ...]:
    document = yaml.safe_load(files("agent_chat.local").joinpath("few_shot.yaml").read_text(encoding="utf-8"))
    return tuple(
        Example(
            item["user"],
            tuple(ExampleCall(call["name"], call["arguments"], call["result"]) for call in item.get("calls", ())),
            item["answer"],
        )
        for item in document
    )
