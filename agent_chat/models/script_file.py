"""A scripted model out of a file, chosen by configuration as `scripted/FILE.yaml` (or `.json`).

The file is a list of steps, or `{repeat_last: true, steps: […]}`. A step is one of

    - Hello.                                        # a final answer
    - {text: Let me look., calls: [{name: now, arguments: {zone: UTC}}]}
    - {failure: rate_limited, message: slow down, retry_after: 2}

and may also give `reasoning`, `finish_reason` and `usage: {prompt: 10, completion: 5}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from agent_chat.core.errors import FailureKind, ModelFailure, UserError
from agent_chat.core.messages import ToolCall
from agent_chat.core.model import FinishReason, Reply, Usage
from agent_chat.models.loose import mapping, sequence
from agent_chat.models.scripted import ScriptedModel, Step

_KEYS = frozenset(
    ("text", "calls", "reasoning", "finish_reason", "usage", "failure", "message", "retry_after")
)


def read_script(path: str, name: str) -> ScriptedModel:
    """Raises UserError with the place of what is wrong."""
    file = Path(path)
    raw = _load(file)
    repeat = False
    if outer := mapping(raw):
        repeat, raw = bool(outer.get("repeat_last")), outer.get("steps")
    entries = sequence(raw)
    if not entries:
        raise UserError(f"{file}: a list of steps is expected.")
    steps = [_step(entry, file, number, name) for number, entry in enumerate(entries, 1)]
    return ScriptedModel(*steps, name=name, repeat_last=repeat)


def _load(file: Path) -> Any:
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: the script cannot be read: {error}.") from None
    try:
        if file.suffix == ".json":
            return json.loads(text)
        import yaml

        return yaml.safe_load(text)
    except Exception as error:
        raise UserError(f"{file}: {' '.join(str(error).split())}.") from None


def _step(entry: Any, file: Path, step: int, model: str) -> Step:
    where = f"{file}, step {step}"
    if isinstance(entry, str):
        return Reply(entry, model=model)
    fields = mapping(entry)
    if not fields or set(fields) - _KEYS:
        unknown = ", ".join(sorted(set(fields) - _KEYS)) or repr(entry)
        raise UserError(f"{where}: {unknown} is not known.", hint=f"Keys: {', '.join(sorted(_KEYS))}.")
    if "failure" in fields:
        return _failure(fields, where, model)
    wanted = enumerate(sequence(fields.get("calls")), 1)
    calls = tuple(_call(call, where, f"call_{step}_{number}") for number, call in wanted)
    finish = fields.get("finish_reason") or ("tool_calls" if calls else "stop")
    if finish not in get_args(FinishReason):
        reasons = ", ".join(get_args(FinishReason))
        raise UserError(f"{where}: finish_reason {finish!r} is not one of {reasons}.")
    usage = mapping(fields.get("usage"))
    return Reply(
        text=str(fields.get("text") or ""),
        calls=calls,
        finish_reason=finish,
        model=model,
        usage=Usage(int(usage.get("prompt", 0)), 0, int(usage.get("completion", 0))) if usage else None,
        reasoning=str(fields.get("reasoning") or ""),
    )


def _failure(fields: Mapping[str, Any], where: str, model: str) -> ModelFailure:
    kind = fields["failure"]
    if kind not in get_args(FailureKind):
        raise UserError(f"{where}: failure {kind!r} is not one of {', '.join(get_args(FailureKind))}.")
    message = str(fields.get("message") or f"{kind} by script")
    wait = None if fields.get("retry_after") is None else float(fields["retry_after"])
    return ModelFailure(kind, f"{model}: {message}", model=model, retry_after=wait)


def _call(entry: Any, where: str, own_id: str) -> ToolCall:
    fields = mapping(entry)
    name = fields.get("name")
    if not isinstance(name, str):
        raise UserError(f"{where}: a call has no name.")
    arguments = fields.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(str(fields.get("id") or own_id), name, text)
