"""The tool calls of one reply, put together from their deltas."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class Call(NamedTuple):
    """A tool call as far as it has arrived; `arguments` is JSON text, perhaps cut."""

    id: str
    name: str
    arguments: str


class CallDeltas:
    """Collects tool-call deltas as llama.cpp sends them: each with its index, id and name first."""

    def __init__(self) -> None:
        self._calls: dict[int, Call] = {}

    def add(self, deltas: Iterable[Mapping[str, Any]]) -> None:
        for delta in deltas:
            known = self._calls.get(delta["index"], Call("", "", ""))
            function: Mapping[str, Any] = delta.get("function") or {}
            self._calls[delta["index"]] = Call(
                known.id or delta.get("id") or "",
                known.name or function.get("name") or "",
                known.arguments + (function.get("arguments") or ""),
            )

    def all(self) -> tuple[Call, ...]:
        """The calls in their order, each once: a small model now and then writes the same call twice."""
        return tuple({_key(call.name, call.arguments): call for call in self._calls.values()}.values())

    def whole(self) -> tuple[Call, ...]:
        """Those whose arguments are a complete JSON object."""
        return tuple(call for call in self.all() if _is_object(call.arguments))


def repeats(calls: Iterable[Call], messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether every call was made by the last assistant message already and has its result there."""
    answered: set[str] = set()
    made: set[tuple[str, str]] = set()
    for message in reversed(messages):
        if message.get("role") == "tool":
            answered.add(str(message.get("tool_call_id")))
            continue
        made = {
            _key(call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls") or ()
            if call.get("id") in answered
        }
        break
    keys = {_key(call.name, call.arguments) for call in calls}
    return bool(keys) and keys <= made


def _key(name: str, arguments: str) -> tuple[str, str]:
    try:
        return name, json.dumps(json.loads(arguments), sort_keys=True)
    except ValueError:
        return name, arguments


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False
