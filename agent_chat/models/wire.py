"""Our values as OpenAI's chat completions write them.

`message_dict` and `tool_dict` give the dicts. `BodyEncoder` gives whole request bodies, encoding every
message once: an iteration costs what is new in it, and all bodies of a session begin with the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import compress, count
from operator import is_not
from typing import Any, assert_never

from agent_chat.core.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from agent_chat.core.model import Query, ToolSpec
from agent_chat.core.text import storable
from agent_chat.models.assembly import CALL_FIELDS
from agent_chat.models.loose import mapping

_NONE: Mapping[str, Any] = {}


def message_dict(message: Message, model: str) -> dict[str, Any]:
    """One message. Extras go back to the `model` that wrote them and to no other."""
    match message:
        case SystemMessage(text):
            return {"role": "system", "content": storable(text)}
        case UserMessage(text):
            return {"role": "user", "content": storable(text)}
        case ToolMessage(call_id, _, text):
            return {"role": "tool", "tool_call_id": call_id, "content": storable(text)}
        case AssistantMessage():
            return _assistant_dict(message, model)
        case _:
            assert_never(message)


def _assistant_dict(message: AssistantMessage, model: str) -> dict[str, Any]:
    extras = message.extras if message.model == model else _NONE
    fields: dict[str, Any] = {name: value for name, value in extras.items() if name != CALL_FIELDS}
    fields |= {"role": "assistant", "content": storable(message.text) or None}
    if message.calls:
        kept = mapping(extras.get(CALL_FIELDS))
        fields["tool_calls"] = [_call_dict(call, mapping(kept.get(call.id))) for call in message.calls]
    return fields


def _call_dict(call: ToolCall, kept: Mapping[str, Any]) -> dict[str, Any]:
    function = {
        **mapping(kept.get("function")),
        "name": storable(call.name),
        "arguments": storable(call.arguments),
    }
    return {**kept, "id": call.id, "type": "function", "function": function}


def tool_dict(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
    return {"type": "function", "function": function}


def call_ids(query: Query) -> set[str]:
    """The ids of all calls in the history."""
    replies = (message for message in query.messages if isinstance(message, AssistantMessage))
    return {call.id for reply in replies for call in reply.calls}


class IdsInBody:
    """The ids of the calls in an encoded body, found where they are asked for.

    Quotes inside of texts are escaped, so that nothing else looks like an id.
    """

    def __init__(self, body: bytes) -> None:
        self._body = body

    def __contains__(self, call_id: object) -> bool:
        return b'"id":' + _dump(call_id) in self._body


class BodyEncoder:
    """Request bodies for one model.

    Messages are values that never change, and successive queries share all but the last of them, so what
    was encoded for the query before is used again wherever it is the same object.
    """

    def __init__(self, model: str, sent_as: str, limit_parameter: str) -> None:
        self._model = model
        self._sent_as = sent_as
        self._limit_parameter = limit_parameter
        self._messages: tuple[Message, ...] = ()
        self._encoded: list[bytes] = []
        self._tools: tuple[ToolSpec, ...] = ()
        self._encoded_tools = b""

    def body(self, query: Query, parameters: Mapping[str, Any], dropped: frozenset[str]) -> bytes:
        """`parameters` are sent beside the query, but for those `dropped`."""
        head: dict[str, Any] = {"model": self._sent_as, "stream": True}
        head["stream_options"] = {"include_usage": True}
        head |= parameters
        tail: dict[str, Any] = {}
        if query.tools and query.tool_choice != "auto":
            tail["tool_choice"] = query.tool_choice
        if query.max_output_tokens is not None:
            head.pop(self._limit_parameter, None)
            tail[self._limit_parameter] = query.max_output_tokens
        # What changes from query to query stands behind the messages, so that all before stays the same.
        parts = [_dump(_without(head, dropped))[:-1]]
        if tools := self._tools_of(query):
            parts.append(b',"tools":' + tools)
        parts.append(b',"messages":[')
        parts.append(b",".join(self._messages_of(query)))
        rest = _dump(_without(tail, dropped))[1:]
        parts.append(b"]," + rest if len(rest) > 1 else b"]}")
        return b"".join(parts)

    def _messages_of(self, query: Query) -> list[bytes]:
        old, new = self._messages, query.messages
        same = next(compress(count(), map(is_not, old, new)), min(len(old), len(new)))
        del self._encoded[same:]
        self._encoded.extend(_dump(message_dict(message, self._model)) for message in new[same:])
        self._messages = new
        return self._encoded

    def _tools_of(self, query: Query) -> bytes:
        if query.tools is not self._tools:
            if query.tools != self._tools or not self._encoded_tools:
                self._encoded_tools = _dump([tool_dict(spec) for spec in query.tools])
            self._tools = query.tools
        return self._encoded_tools if query.tools else b""


def _without(fields: dict[str, Any], dropped: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in dropped} if dropped else fields


_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _dump(value: Any) -> bytes:
    return _encoder.encode(value).encode("utf-8", "replace")
