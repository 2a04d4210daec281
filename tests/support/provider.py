"""A scripted provider that speaks OpenAI's chat completions, and the notation its replies are written in.

R1 = [TC(0, "c1", "echo", '{"text":"a"}'), FIN("tool_calls"), DONE]
with ScriptedProvider([R1, OK]) as provider:
    ...  # provider.base_url, provider.bodies
"""

# The builders are named as the requirements write them.
# ruff: noqa: N802

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Literal, cast

from support.http_server import Cut, Gate, Hang, Http, JsonObject, Request, Response, Send, Sleep, Step
from support.scripted import Repeat, Reply, ScriptedServer, json_answer
from support.strict import well_formed

__all__ = [
    "ABSENT",
    "CHUNK",
    "CUT",
    "DELTA",
    "DONE",
    "FIN",
    "GATE",
    "HANG",
    "HTTP",
    "OK",
    "RAW",
    "REPEAT",
    "RESET",
    "SLEEP",
    "TC",
    "USE",
    "Gate",
    "Item",
    "OpenAIReply",
    "Request",
    "ScriptedProvider",
    "T",
    "_",
]


class _Absent(Enum):
    FIELD = "absent"


_: Final = _Absent.FIELD
"""A field that the delta does not have, where None is a field that is null."""
ABSENT: Final = _Absent.FIELD
"""The same under a name of its own."""

Absent = Literal[_Absent.FIELD]


@dataclass(frozen=True, slots=True)
class Delta:
    """One chunk with one choice."""

    delta: JsonObject
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """One chunk, sent exactly as it stands here."""

    payload: JsonObject


@dataclass(frozen=True, slots=True)
class Usage:
    """The chunk with usage and no choices."""

    usage: JsonObject


@dataclass(frozen=True, slots=True)
class Done:
    """The end mark."""


Item = Delta | Chunk | Usage | Done | Step | Sequence[Delta]
OpenAIReply = Reply[Item]

DONE: Final = Done()
CUT: Final = Cut()
RESET: Final = Cut(reset=True)
HANG: Final = Hang()


def T(text: str) -> Delta:
    """A text delta."""
    return Delta({"content": text})


def TC(
    index: int | Absent | None,
    call_id: str | Absent | None,
    name: str | Absent | None,
    arguments: str | Absent | None,
) -> Delta:
    """One tool-call delta. Put two into a list to send them in one chunk."""
    call = _present({"index": index, "id": call_id})
    if call_id is not ABSENT and call_id:
        call["type"] = "function"
    function = _present({"name": name, "arguments": arguments})
    if function:
        call["function"] = function
    return Delta({"tool_calls": [call]})


def DELTA(fields: Mapping[str, Any]) -> Delta:
    """A delta with any fields: role, null content, reasoning."""
    return Delta(dict(fields))


def CHUNK(payload: Mapping[str, Any]) -> Chunk:
    """A whole chunk as it stands, such as `{"choices": []}` or an error event."""
    return Chunk(dict(payload))


def FIN(reason: str) -> Delta:
    """The chunk with the finish reason."""
    return Delta({}, reason)


def USE(prompt: int, completion: int, *, cached: int | None = None, reasoning: int | None = None) -> Usage:
    """The usage chunk: tokens in and out, of these read from the cache and spent on reasoning."""
    usage: JsonObject = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    if cached is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    if reasoning is not None:
        usage["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    return Usage(usage)


def HTTP(
    status: int,
    headers: Mapping[str, str] | None = None,
    body: JsonObject | str | bytes | None = None,
    *,
    close: bool = False,
) -> Http:
    """A plain answer. Without a body it carries an error in OpenAI's shape that names the status."""
    if body is None:
        kind = "server_error" if status >= 500 else "error"
        body = {"error": {"message": f"scripted HTTP {status}", "type": kind}}
    if isinstance(body, dict):
        return json_answer(status, body, headers=dict(headers or {}), close=close)
    encoded = body.encode("utf-8") if isinstance(body, str) else body
    return Http(status, {"Content-Type": "text/plain", **(headers or {})}, encoded, close)


def RAW(data: bytes) -> Send:
    """Bytes of the stream as they stand; empty ones send the headers alone."""
    return Send(data)


def GATE(gate: Gate) -> Gate:
    """Stop here until the test calls `gate.open()`; `gate.wait_reached()` says that the server is here."""
    return gate


def SLEEP(seconds: float) -> Sleep:
    """A slow provider. To order events use a gate instead."""
    return Sleep(seconds)


def REPEAT(
    reply: Sequence[Item] | Callable[[Request], Sequence[Item]] | Item,
) -> Repeat[Item]:
    """The last reply of a script, for this and every later request."""
    return Repeat(reply)


OK: Final[Sequence[Item]] = (T("ok"), FIN("stop"), DONE)


class ScriptedProvider(ScriptedServer[Item]):
    """A real server for OpenAI's chat completions, streaming and not.

    With `strict` it answers 400 to a history that is not `well_formed`. With `models` it also lists those at
    `/v1/models`.
    """

    def __init__(
        self,
        replies: Sequence[OpenAIReply] = (),
        *,
        strict: bool = False,
        models: Sequence[str] | None = None,
        paths: Iterable[str] = ("/v1/chat/completions",),
        allow_unused: bool = False,
        allow_failures: bool = False,
    ) -> None:
        super().__init__(replies, allow_unused=allow_unused, allow_failures=allow_failures)
        self._strict = strict
        self._models = models
        self._paths = frozenset(paths)

    @property
    def base_url(self) -> str:
        """`http://127.0.0.1:PORT/v1`."""
        return f"{self.address}/v1"

    def is_scripted(self, request: Request) -> bool:
        return request.method == "POST" and request.path in self._paths

    def refuse(self, request: Request) -> str | None:
        if request.body_error is not None or not self._strict:
            return request.body_error
        messages = request.body.get("messages")
        problems = well_formed(cast("list[Any]", messages) if isinstance(messages, list) else [])
        return "; ".join(problems) or None

    def answer_other(self, request: Request) -> Response | None:
        if self._models is None or request.method != "GET" or request.path != "/v1/models":
            return None
        entries = [
            {"id": name, "object": "model", "created": 0, "owned_by": "script"} for name in self._models
        ]
        return Response([json_answer(200, {"object": "list", "data": entries})])

    def error_body(self, status: int, message: str) -> JsonObject:
        kind = "invalid_request_error" if status < 500 else "scripted_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}

    def render(self, request: Request, items: Sequence[Item]) -> Response:
        envelope = {
            "id": f"chatcmpl-{len(self.requests)}",
            "created": 1_700_000_000,
            "model": request.body.get("model", "scripted"),
        }
        if items and _asks_for_done(items[-1]):
            items = [*items, DONE]
        if request.body.get("stream"):
            return Response([_stream_step(item, envelope) for item in items])
        return Response(_plain_steps(items, envelope))


def _present(fields: dict[str, Any]) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not ABSENT}


def _asks_for_done(item: Item) -> bool:
    match item:
        case Usage():
            return True
        case Delta(_, reason):
            return reason is not None
        case _:
            return False


def _joined(deltas: Sequence[Delta]) -> Delta:
    """Several tool-call deltas as one."""
    return Delta({"tool_calls": [call for delta in deltas for call in delta.delta["tool_calls"]]})


def _chunk(item: Delta | Usage | Chunk, envelope: JsonObject) -> JsonObject:
    match item:
        case Chunk(payload):
            return payload
        case Usage(usage):
            return {**envelope, "object": "chat.completion.chunk", "choices": [], "usage": usage}
        case Delta(delta, reason):
            choice: JsonObject = {"index": 0, "delta": delta, "finish_reason": reason}
            return {**envelope, "object": "chat.completion.chunk", "choices": [choice]}


def _stream_step(item: Item, envelope: JsonObject) -> Step:
    match item:
        case Done():
            return Send(b"data: [DONE]\n\n")
        case Delta() | Usage() | Chunk():
            text = json.dumps(_chunk(item, envelope), ensure_ascii=False)
            return Send(f"data: {text}\n\n".encode())
        case Send() | Cut() | Hang() | Sleep() | Http() | Gate():
            return item
        case _:
            return _stream_step(_joined(item), envelope)


def _plain_steps(items: Sequence[Item], envelope: JsonObject) -> list[Step]:
    """The same reply for a request that does not stream: pauses and breaks first, then one body."""
    steps: list[Step] = []
    completion = _Completion()
    for item in items:
        match item:
            case Delta() | Usage() | Chunk():
                completion.add(_chunk(item, envelope))
            case Cut() | Hang() | Http():
                return [*steps, item]
            case Sleep() | Gate():
                steps.append(item)
            case Send() | Done():
                pass
            case _:
                completion.add(_chunk(_joined(item), envelope))
    return [*steps, json_answer(200, completion.result(envelope))]


@dataclass
class _Completion:
    """Chunks put together as a whole answer."""

    fields: JsonObject = field(default_factory=dict[str, Any])
    calls: dict[Any, JsonObject] = field(default_factory=dict[Any, JsonObject])
    finish_reason: str | None = None
    usage: JsonObject | None = None

    def add(self, chunk: JsonObject) -> None:
        self.usage = chunk.get("usage") or self.usage
        for choice in chunk.get("choices", []):
            self.finish_reason = choice.get("finish_reason") or self.finish_reason
            for name, value in choice.get("delta", {}).items():
                if name == "tool_calls":
                    self._add_calls(value)
                elif isinstance(value, (str, list)) and name != "role" and self.fields.get(name) is not None:
                    self.fields[name] += value
                else:
                    self.fields[name] = value

    def _add_calls(self, deltas: list[JsonObject]) -> None:
        for delta in deltas:
            key = delta.get("index", f"call without index {len(self.calls)}")
            call = self.calls.setdefault(key, {"type": "function", "function": {}})
            if delta.get("id"):
                call["id"] = delta["id"]
            function = delta.get("function", {})
            if function.get("name") and "name" not in call["function"]:
                call["function"]["name"] = function["name"]
            arguments = function.get("arguments")
            call["function"]["arguments"] = call["function"].get("arguments", "") + (arguments or "")

    def result(self, envelope: JsonObject) -> JsonObject:
        message: JsonObject = {"role": "assistant", "content": None, **self.fields}
        if self.calls:
            message["tool_calls"] = list(self.calls.values())
        choice = {"index": 0, "message": message, "finish_reason": self.finish_reason}
        body: JsonObject = {**envelope, "object": "chat.completion", "choices": [choice]}
        return body if self.usage is None else {**body, "usage": self.usage}
