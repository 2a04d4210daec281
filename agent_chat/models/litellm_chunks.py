"""LiteLLM's chunk objects as the dicts that OpenAI's wire has.

Its own `model_dump` takes longer than the rest of our work on a chunk together.
"""

from __future__ import annotations

from typing import Any

from agent_chat.models.loose import mapping, sequence


def plain_chunk(chunk: Any) -> dict[str, Any]:
    """A chunk with what the assembly looks at; fields that are None are left out."""
    fields = _fields(chunk)
    plain: dict[str, Any] = {"choices": [_choice(choice) for choice in sequence(fields.get("choices"))]}
    if usage := _usage(fields.get("usage")):
        plain["usage"] = usage
    if error := fields.get("error"):
        plain["error"] = error
    return plain


def _choice(choice: Any) -> dict[str, Any]:
    fields = _fields(choice)
    return {"finish_reason": fields.get("finish_reason"), "delta": _delta(fields.get("delta"))}


def _delta(delta: Any) -> dict[str, Any]:
    fields = _fields(delta)
    if calls := fields.get("tool_calls"):
        fields["tool_calls"] = [_call(call) for call in sequence(calls)]
    if provider := mapping(fields.pop("provider_specific_fields", None)):
        # LiteLLM repeats the thinking blocks here.
        kept = {name: value for name, value in provider.items() if name != "thinking_blocks"}
        if kept:
            fields["provider_specific_fields"] = kept
    return fields


def _call(call: Any) -> dict[str, Any]:
    fields = _fields(call)
    return {**fields, "function": _fields(fields.get("function"))}


def _usage(usage: Any) -> dict[str, Any]:
    """Empty where the provider tells of none: LiteLLM puts zeros in its place, and nothing costs nothing."""
    fields = _fields(usage)
    if not (fields.get("prompt_tokens") or fields.get("completion_tokens")):
        return {}
    for name in ("prompt_tokens_details", "completion_tokens_details"):
        if name in fields:
            fields[name] = _fields(fields[name])
    return fields


def _fields(value: Any) -> dict[str, Any]:
    """The fields of a pydantic object or a dict that are not None."""
    found = mapping(value) or {
        **mapping(getattr(value, "__dict__", None)),
        **mapping(getattr(value, "__pydantic_extra__", None)),
    }
    return {name: field for name, field in found.items() if field is not None}
