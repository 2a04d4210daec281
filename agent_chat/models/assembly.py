"""A reply out of chunks, however a provider sends them.

Chunks are dicts in the shape of OpenAI's `chat.completion.chunk`; whole answers (`chat.completion`) are
taken too. Nothing in a chunk is trusted to be there, or to be of the type that it should have.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from agent_chat.core.model import FinishReason, ModelDelta, ReasoningDelta, Reply, TextDelta, Usage
from agent_chat.models.call_assembly import CallAssembly
from agent_chat.models.extras import Extras
from agent_chat.models.loose import mapping, sequence
from agent_chat.models.surrogates import Mender, mend

_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "refusal": "content_filter",
}
CALL_FIELDS = "tool_calls"
"""The key in a reply's extras under which fields of its calls are kept, by call id."""
_PLAIN = frozenset(("content", "role"))
_NOTHING: tuple[ModelDelta, ...] = ()


class ErrorInStream(Exception):
    """The provider reported an error inside a stream that began well."""

    def __init__(self, error: Any) -> None:
        super().__init__(error)
        self.error = error


class Assembly:
    """Feed it every chunk in order; `reply()` at the end."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._mender = Mender()
        self._reasoning: list[str] = []
        self._reasoning_mender = Mender()
        self._calls = CallAssembly()
        self._extras = Extras()
        self._finish: str | None = None
        self._usage: Mapping[str, Any] | None = None

    @property
    def finished(self) -> bool:
        """Whether a finish reason has come."""
        return self._finish is not None

    @property
    def raw_usage(self) -> Mapping[str, Any] | None:
        """Usage as the provider wrote it."""
        return self._usage

    def feed(self, chunk: Any) -> tuple[ModelDelta, ...]:
        """What the chunk adds. Raises ErrorInStream where it is an error."""
        fields = mapping(chunk)
        if usage := mapping(fields.get("usage")):
            self._usage = usage
        choices = fields.get("choices")
        if not choices:
            if error := _error_of(fields):
                raise ErrorInStream(error)
            return _NOTHING
        if fields.get("error"):
            raise ErrorInStream(fields["error"])
        return self._choice(mapping(next(iter(sequence(choices)), None)))

    def _choice(self, choice: Mapping[str, Any]) -> tuple[ModelDelta, ...]:
        finish = choice.get("finish_reason")
        if finish and isinstance(finish, str) and finish != "null":
            if finish == "error":
                raise ErrorInStream(choice.get("error") or {"message": "the provider ended with an error"})
            self._finish = finish
        if delta := mapping(choice.get("delta")):
            return self._delta(delta, whole=False)
        if message := mapping(choice.get("message")):
            return self._delta(message, whole=True)
        return _NOTHING

    def _delta(self, delta: Mapping[str, Any], *, whole: bool) -> tuple[ModelDelta, ...]:
        content = delta.get("content")
        # Nearly every chunk is this one.
        if type(content) is str and _PLAIN.issuperset(delta):
            return self._add_text(content)
        found: tuple[ModelDelta, ...] = _NOTHING
        if shown := self._reasoning_mender.feed(self._extras.feed(delta)):
            self._reasoning.append(shown)
            found = (ReasoningDelta(shown),)
        found += self._add_text(_content_text(content) or _content_text(delta.get("refusal")))
        for call in sequence(delta.get("tool_calls")):
            if piece := self._calls.feed(call, whole=whole):
                found += (piece,)
        return found

    def _add_text(self, text: str) -> tuple[ModelDelta, ...]:
        text = self._mender.feed(text)
        if not text:
            return _NOTHING
        self._text.append(text)
        return (TextDelta(text),)

    def reply(self, model: str, taken: Container[str] = ()) -> Reply:
        """The whole reply, without its cost. `taken`: ids of calls that the history has already."""
        calls = self._calls.calls(taken)
        extras = self._extras.values()
        if fields := self._calls.fields():
            extras[CALL_FIELDS] = fields
        text = "".join(self._text) + self._mender.end()
        finish = _FINISH.get((self._finish or "").lower(), "unknown")
        return Reply(
            text=text,
            calls=calls,
            finish_reason=finish,
            model=model,
            usage=read_usage(self._usage),
            extras=extras,
            reasoning=mend("".join(self._reasoning)),
        )


def read_usage(raw: Mapping[str, Any] | None) -> Usage | None:
    """Usage in our terms; None where nothing was counted."""
    if not raw:
        return None
    prompt, completion = _count(raw, "prompt_tokens"), _count(raw, "completion_tokens")
    if prompt is None and completion is None:
        return None
    cached = (
        _count(mapping(raw.get("prompt_tokens_details")), "cached_tokens")
        or _count(raw, "prompt_cache_hit_tokens")
        or _count(raw, "cache_read_input_tokens")
    )
    reasoning = _count(mapping(raw.get("completion_tokens_details")), "reasoning_tokens")
    return Usage(prompt or 0, cached or 0, completion or 0, reasoning or 0)


def _count(raw: Mapping[str, Any], name: str) -> int | None:
    value = raw.get(name)
    return int(value) if isinstance(value, int | float) and value >= 0 else None


def _error_of(chunk: Mapping[str, Any]) -> Any:
    """The error of a chunk that has no choices."""
    if error := chunk.get("error"):
        return error
    is_error = chunk.get("object") == "error" or chunk.get("type") == "error"
    return chunk if is_error else None


def _content_text(content: Any) -> str:
    """Text of a content that is a string, or a list of parts as some providers send."""
    if isinstance(content, str):
        return content
    parts = [mapping(part).get("text") for part in sequence(content)]
    return "".join(text for text in parts if isinstance(text, str))
