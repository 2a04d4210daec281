"""One reply of a small model, read as it streams: what is shown at once, what is held back, what was meant.

A small model now and then wraps a call in a code fence, or writes it as text. Text that may still turn out to
be a call is held back until that is known, and so are the calls themselves, so that a reply can be given up
and asked for again without half of it having been told. Pure: chunks in, chunks out.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from agent_chat.local.generation import Chunk

_FENCE = "```json"
_DECODER = json.JSONDecoder()


class Call(NamedTuple):
    """A tool call as far as it has arrived; `arguments` is JSON text, perhaps cut."""

    id: str
    name: str
    arguments: str


class Reply:
    """A reply to a request that offered the tools `offered` (none: nothing is held back)."""

    def __init__(self, offered: frozenset[str]) -> None:
        self._offered = offered
        self._text = ""
        self._held: list[Chunk] = []
        self._calls: dict[int, Call] = {}
        self._last: list[Chunk] = []
        self._plain = not offered
        self.told = False
        """Whether text has been passed on."""
        self.usage: Mapping[str, Any] | None = None

    def feed(self, chunk: Chunk) -> Iterable[Chunk]:
        """Take the next chunk; give the chunks that can be passed on now."""
        if usage := chunk.get("usage"):
            self.usage = usage
        if not chunk.get("choices") or chunk["choices"][0].get("finish_reason"):
            self._last.append(chunk)
            return ()
        delta = chunk["choices"][0]["delta"]
        if calls := delta.get("tool_calls"):
            self._collect(calls)
            return ()
        self._text += delta.get("content") or ""
        if not self._plain and _may_become_a_call(self._text):
            self._held.append(chunk)
            return ()
        self._plain = True
        return self._release(chunk)

    def calls(self) -> tuple[Call, ...]:
        """The calls: those that llama.cpp found, or else those that stand in the text."""
        return tuple(self._calls.values()) or tuple(_calls_in(self._text, self._offered))

    def salvage(self) -> bool:
        """After output that fits no form: keep the calls that are whole; False when there are none."""
        self._calls = {index: call for index, call in self._calls.items() if _is_object(call.arguments)}
        return bool(self._calls)

    def finish(self) -> Iterable[Chunk]:
        """What is left to pass on: text held back or the calls, then the last chunks."""
        calls = self.calls()
        if not calls:
            yield from self._release()
            yield from self._last
            return
        yield _delta({"role": "assistant", "tool_calls": [_as_delta(at, call) for at, call in enumerate(calls)]})
        ends = [chunk for chunk in self._last if chunk.get("choices")]
        cut = any(chunk["choices"][0]["finish_reason"] == "length" for chunk in ends)
        yield {**_delta({}), "choices": [_choice({}, "length" if cut else "tool_calls")]}
        yield from (chunk for chunk in self._last if not chunk.get("choices"))

    def _release(self, *more: Chunk) -> Sequence[Chunk]:
        released = [*self._held, *more]
        self._held = []
        self.told = self.told or bool(self._text.strip() and released)
        return released

    def _collect(self, deltas: Iterable[Mapping[str, Any]]) -> None:
        for delta in deltas:
            known = self._calls.get(delta["index"], Call("", "", ""))
            function = delta.get("function") or {}
            self._calls[delta["index"]] = Call(
                known.id or delta.get("id") or "",
                known.name or function.get("name") or "",
                known.arguments + (function.get("arguments") or ""),
            )


def repeats(calls: Iterable[Call], messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether every call was made by the last assistant message already and has its result there."""
    made: set[tuple[str, str]] = set()
    answered: set[str] = set()
    for message in reversed(messages):
        match message.get("role"):
            case "tool":
                answered.add(str(message.get("tool_call_id")))
            case "assistant":
                made = {
                    _key(call["function"]["name"], call["function"]["arguments"])
                    for call in message.get("tool_calls") or ()
                    if call.get("id") in answered
                }
                break
            case _:
                break
    calls = tuple(calls)
    return bool(calls) and all(_key(call.name, call.arguments) in made for call in calls)


def _key(name: str, arguments: str) -> tuple[str, str]:
    try:
        return name, json.dumps(json.loads(arguments), sort_keys=True)
    except ValueError:
        return name, arguments


def _may_become_a_call(text: str) -> bool:
    start = text.lstrip()
    return start.startswith(("{", "[{", _FENCE, "```\n{")) or any(
        form.startswith(start) for form in (_FENCE, "```\n{", "[{")
    )


def _calls_in(text: str, offered: frozenset[str]) -> Iterable[Call]:
    at = text.find("{") if offered else -1
    while at >= 0:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except ValueError:
            value, end = None, at + 1
        match value:
            case {"name": str(name), "arguments": dict(arguments), **rest} if name in offered and not rest:
                yield Call("", name, json.dumps(arguments, ensure_ascii=False))
            case _:
                end = at + 1
        at = text.find("{", end)


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _as_delta(index: int, call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"index": index, "id": call.id or f"call_{index}", "type": "function", "function": function}


def _choice(delta: Mapping[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish_reason}


def _delta(delta: Mapping[str, Any]) -> Chunk:
    return {"object": "chat.completion.chunk", "choices": [_choice(delta)]}


def text_chunk(text: str) -> Chunk:
    """A chunk that carries `text`."""
    return _delta({"content": text})
