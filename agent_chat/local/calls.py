"""The tool calls of one reply."""

import json
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class Call(NamedTuple):
    """A tool call; `arguments` is JSON text, perhaps cut where the reply was."""

    id: str
    name: str
    arguments: str


_HEAD = re.compile(r'\{\s*"name"\s*:\s*"([^"]+)"\s*,\s*"arguments"\s*:\s*')
_DECODER = json.JSONDecoder()


def read_calls(text: str) -> tuple[Call, ...]:
    """The calls in `text`, one a line, each once; the last may be cut."""
    calls: dict[tuple[str, str], Call] = {}
    at = 0
    while head := _HEAD.search(text, at):
        try:
            _, at = _DECODER.raw_decode(text, head.end())
        except ValueError:  # cut
            at = len(text)
        name, arguments = head[1], text[head.end() : at]
        calls.setdefault(_key(name, arguments), Call(f"call_{secrets.token_hex(8)}", name, arguments))
    return tuple(calls.values())


def whole_calls(text: str) -> tuple[Call, ...]:
    """Those of the calls in `text` that are not cut."""
    return tuple(call for call in read_calls(text) if _is_whole(call.arguments))


def goes_round(text: str) -> bool:
    """Whether a call that is complete stands in `text` twice: a small model may go on like that for ever."""
    complete = text.split("\n")[:-1]
    return len(set(complete)) < len(complete)


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


def _is_whole(arguments: str) -> bool:
    try:
        json.loads(arguments)
    except ValueError:
        return False
    return True


def _key(name: str, arguments: str) -> tuple[str, str]:
    try:
        return name, json.dumps(json.loads(arguments), sort_keys=True)
    except ValueError:
        return name, arguments
