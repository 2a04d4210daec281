"""A scripted provider that speaks Gemini's generateContent, streaming and not.

    reply = [THINK("why"), T("hi"), CALL("echo", {"text": "a"}, signature="sigA"), FIN("STOP", 10, 5)]
    with ScriptedGemini([reply]) as provider:
        ...  # provider.base_url is the api_base

`CUT`, `HANG`, `RAW`, `HTTP`, `GATE`, `SLEEP` and `REPEAT` are those of `support.provider`.
"""

# The builders are named as in the notation of `support.provider`.
# ruff: noqa: N802

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from support.http_server import Cut, Gate, Hang, Http, JsonObject, Request, Response, Send, Sleep, Step
from support.scripted import Reply, ScriptedServer, json_answer


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the content, in a chunk of its own."""

    part: JsonObject


@dataclass(frozen=True, slots=True)
class Finish:
    reason: str
    prompt_tokens: int
    answer_tokens: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """One chunk as it stands."""

    payload: JsonObject


Item = Part | Finish | Chunk | Step
GeminiReply = Reply[Item]


def T(text: str) -> Part:
    """A piece of text."""
    return Part({"text": text})


def THINK(text: str) -> Part:
    """A piece of the summary of thoughts."""
    return Part({"text": text, "thought": True})


def CALL(name: str, arguments: Mapping[str, Any], *, signature: str | None = None) -> Part:
    """A function call; Gemini sends it whole and without an id."""
    part: JsonObject = {"functionCall": {"name": name, "args": dict(arguments)}}
    if signature is not None:
        part["thoughtSignature"] = signature
    return Part(part)


def FIN(reason: str = "STOP", prompt_tokens: int = 1, answer_tokens: int = 1) -> Finish:
    """The end: `STOP` (for calls too), `MAX_TOKENS`, `SAFETY`, with usage."""
    return Finish(reason, prompt_tokens, answer_tokens)


def CHUNK(payload: Mapping[str, Any]) -> Chunk:
    """Any chunk."""
    return Chunk(dict(payload))


def ERROR(status: int, kind: str, message: str, headers: Mapping[str, str] | None = None) -> Http:
    """A plain error in Google's shape; `kind` is such as `RESOURCE_EXHAUSTED`."""
    return json_answer(status, _error(status, kind, message), headers=dict(headers or {}))


OK: Sequence[Item] = (Part({"text": "ok"}), Finish("STOP", 1, 1))


class ScriptedGemini(ScriptedServer[Item]):
    """A real server for `POST …/models/NAME:streamGenerateContent` and `…:generateContent`."""

    @property
    def base_url(self) -> str:
        """`http://127.0.0.1:PORT/v1beta`."""
        return f"{self.address}/v1beta"

    def is_scripted(self, request: Request) -> bool:
        return request.method == "POST" and _method(request) in ("streamGenerateContent", "generateContent")

    def error_body(self, status: int, message: str) -> JsonObject:
        return _error(status, "INVALID_ARGUMENT" if status < 500 else "INTERNAL", message)

    def render(self, request: Request, items: Sequence[Item]) -> Response:
        model = request.path.rpartition("/")[2].partition(":")[0]
        common: JsonObject = {"modelVersion": model, "responseId": f"r{len(self.requests)}"}
        if _method(request) == "streamGenerateContent":
            return Response([_stream_step(item, common) for item in items])
        return Response(_plain_steps(items, common))


def _method(request: Request) -> str:
    return request.path.rpartition(":")[2]


def _error(status: int, kind: str, message: str) -> JsonObject:
    return {"error": {"code": status, "message": message, "status": kind}}


def _content(parts: Sequence[JsonObject], finish: Finish | None, common: JsonObject) -> JsonObject:
    candidate: JsonObject = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    answer: JsonObject = {"candidates": [candidate], **common}
    if finish is not None:
        candidate["finishReason"] = finish.reason
        answer["usageMetadata"] = {
            "promptTokenCount": finish.prompt_tokens,
            "candidatesTokenCount": finish.answer_tokens,
            "totalTokenCount": finish.prompt_tokens + finish.answer_tokens,
        }
    return answer


def _stream_step(item: Item, common: JsonObject) -> Step:
    match item:
        case Part(part):
            payload = _content([part], None, common)
        case Finish():
            payload = _content([{"text": ""}], item, common)
        case Chunk():
            payload = item.payload
        case Send() | Cut() | Hang() | Sleep() | Http() | Gate():
            return item
    return Send(f"data: {json.dumps(payload, ensure_ascii=False)}\r\n\r\n".encode())


def _plain_steps(items: Sequence[Item], common: JsonObject) -> list[Step]:
    steps: list[Step] = []
    parts: list[JsonObject] = []
    finish: Finish | None = None
    for item in items:
        match item:
            case Cut() | Hang() | Http():
                return [*steps, item]
            case Sleep() | Gate():
                steps.append(item)
            case Part(part):
                parts.append(part)
            case Finish():
                finish = item
            case Chunk() | Send():
                pass
    return [*steps, json_answer(200, _content(parts, finish, common))]
