"""A scripted provider that speaks Anthropic's messages, streaming and not.

    reply = [THINK("why", "sigA"), T("hi"), TOOL("t1", "echo", '{"text":', '"a"}'), FIN("tool_use", 10, 5)]
    with ScriptedAnthropic([reply]) as provider:
        ...  # provider.address is the api_base

A reply that has no FIN breaks off: no message_delta, no message_stop. `CUT`, `HANG`, `RAW`, `HTTP`, `GATE`,
`SLEEP` and `REPEAT` are those of `support.provider`.
"""

# The builders are named as in the notation of `support.provider`.
# ruff: noqa: N802

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from support.http_server import Cut, Gate, Hang, Http, JsonObject, Request, Response, Send, Sleep, Step
from support.scripted import Reply, ScriptedServer, json_answer


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    text: str
    signature: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    call_id: str
    name: str
    pieces: Sequence[str]


@dataclass(frozen=True, slots=True)
class Finish:
    reason: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event as it stands."""

    name: str
    data: JsonObject


Item = Text | Thinking | ToolUse | Finish | Event | Step
AnthropicReply = Reply[Item]


def T(text: str) -> Text:
    """A text delta; deltas in a row share one block."""
    return Text(text)


def THINK(text: str, signature: str) -> Thinking:
    """A thinking block of its own."""
    return Thinking(text, signature)


def TOOL(call_id: str, name: str, *pieces: str) -> ToolUse:
    """A tool_use block whose input comes as these pieces of JSON text."""
    return ToolUse(call_id, name, pieces)


def FIN(reason: str, input_tokens: int = 1, output_tokens: int = 1, *, cached: int = 0) -> Finish:
    """The end: `end_turn`, `tool_use`, `max_tokens`, with usage."""
    return Finish(reason, input_tokens, output_tokens, cached)


def EVENT(name: str, data: Mapping[str, Any]) -> Event:
    """Any event, such as `error` in the middle of a stream."""
    return Event(name, dict(data))


def ERROR(status: int, kind: str, message: str, headers: Mapping[str, str] | None = None) -> Http:
    """A plain error in Anthropic's shape."""
    return json_answer(status, _error(kind, message), headers=dict(headers or {}))


OK: Sequence[Item] = (Text("ok"), Finish("end_turn", 1, 1, 0))


class ScriptedAnthropic(ScriptedServer[Item]):
    """A real server for `POST /v1/messages`."""

    def is_scripted(self, request: Request) -> bool:
        return request.method == "POST" and request.path == "/v1/messages"

    def error_body(self, status: int, message: str) -> JsonObject:
        return _error("invalid_request_error" if status < 500 else "api_error", message)

    def render(self, request: Request, items: Sequence[Item]) -> Response:
        finish = next((item for item in items if isinstance(item, Finish)), Finish("end_turn", 1, 1, 0))
        message: JsonObject = {
            "id": f"msg_{len(self.requests)}",
            "type": "message",
            "role": "assistant",
            "model": request.body.get("model", "scripted"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {
                "input_tokens": finish.input_tokens,
                "output_tokens": 1,
                "cache_read_input_tokens": finish.cached_tokens,
                "cache_creation_input_tokens": 0,
            },
        }
        if request.body.get("stream"):
            return Response(list(_Stream(message).steps(items)))
        return Response(list(_plain_steps(items, message)))


def _error(kind: str, message: str) -> JsonObject:
    return {"type": "error", "error": {"type": kind, "message": message}}


def _sse(name: str, data: JsonObject) -> Send:
    return Send(f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode())


@dataclass
class _Stream:
    """Items as events, with blocks opened and closed around the deltas."""

    message: JsonObject
    index: int = -1
    open_kind: str | None = None
    started: bool = field(default=False)

    def steps(self, items: Sequence[Item]) -> Iterator[Step]:
        for item in items:
            match item:
                case Cut() | Hang() | Sleep() | Http() | Gate() | Send():
                    yield item
                    continue
                case _:
                    pass
            if not self.started:
                self.started = True
                yield self._event("message_start", message=self.message)
            match item:
                case Text(text):
                    if self.open_kind != "text":
                        yield from self._open({"type": "text", "text": ""})
                    yield self._delta({"type": "text_delta", "text": text})
                case Thinking(text, signature):
                    yield from self._open({"type": "thinking", "thinking": "", "signature": ""})
                    yield self._delta({"type": "thinking_delta", "thinking": text})
                    yield self._delta({"type": "signature_delta", "signature": signature})
                case ToolUse(call_id, name, pieces):
                    yield from self._open({"type": "tool_use", "id": call_id, "name": name, "input": {}})
                    for piece in pieces:
                        yield self._delta({"type": "input_json_delta", "partial_json": piece})
                case Finish(reason, _, output_tokens, _):
                    yield from self._close()
                    delta = {"stop_reason": reason, "stop_sequence": None}
                    yield self._event("message_delta", delta=delta, usage={"output_tokens": output_tokens})
                    yield self._event("message_stop")
                case Event(name, data):
                    yield _sse(name, data)

    def _open(self, block: JsonObject) -> Iterator[Step]:
        yield from self._close()
        self.index += 1
        self.open_kind = block["type"]
        yield self._event("content_block_start", index=self.index, content_block=block)

    def _close(self) -> Iterator[Step]:
        if self.open_kind is not None:
            self.open_kind = None
            yield self._event("content_block_stop", index=self.index)

    def _delta(self, delta: JsonObject) -> Send:
        return self._event("content_block_delta", index=self.index, delta=delta)

    def _event(self, name: str, **fields: Any) -> Send:
        return _sse(name, {"type": name, **fields})


def _plain_steps(items: Sequence[Item], message: JsonObject) -> Iterator[Step]:
    blocks: list[JsonObject] = message["content"]
    for item in items:
        match item:
            case Cut() | Hang() | Http():
                yield item
                return
            case Sleep() | Gate():
                yield item
            case Text(text):
                if blocks and blocks[-1]["type"] == "text":
                    blocks[-1]["text"] += text
                else:
                    blocks.append({"type": "text", "text": text})
            case Thinking(text, signature):
                blocks.append({"type": "thinking", "thinking": text, "signature": signature})
            case ToolUse(call_id, name, pieces):
                given = json.loads("".join(pieces) or "{}")
                blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": given})
            case Finish(reason, _, output_tokens, _):
                message["stop_reason"] = reason
                message["usage"]["output_tokens"] = output_tokens
            case Event() | Send():
                pass
    yield json_answer(200, message)
