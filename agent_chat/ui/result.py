"""The `json` result: one object for a run, whether it succeeded or failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from agent_chat.core.events import SCHEMA_VERSION, Entry, ModelReplied, TurnEnded
from agent_chat.core.model import Delta, Usage
from agent_chat.core.outcome import KINDS, OutcomeKind, StopReason
from agent_chat.ui import phrases
from agent_chat.ui.sanitize import json_safe


class ResultUsage(BaseModel):
    """Tokens as the provider counted them; `cached` is part of `prompt`, `reasoning` part of `completion`."""

    prompt: int = 0
    cached: int = 0
    completion: int = 0
    reasoning: int = 0


class Result(BaseModel):
    """What came of a run of one turn."""

    model_config = ConfigDict(protected_namespaces=())

    schema_version: int = SCHEMA_VERSION
    type: Literal["result"] = "result"
    session_id: str | None
    """None where no session was begun."""
    kind: OutcomeKind
    reason: StopReason | Literal["usage"]
    """`usage`: wrong usage or configuration; nothing was sent."""
    answer: str
    """The final answer, or the best partial one; empty where there is none."""
    data: Any = None
    """The answer as JSON, where a JSON Schema was asked for."""
    model_used: str | None
    """The model that replied last, as its provider names it."""
    iterations: int
    tool_calls: int
    usage: ResultUsage
    cost_usd: float | None
    """None where any part of it is unknown."""
    duration_ms: int
    error: str | None
    """Why it is not completed, and what to do next."""
    exit_code: int

    def to_json(self) -> str:
        """One line."""
        return json_safe(self.model_dump_json())


def usage_error(message: str, exit_code: int, *, session_id: str | None = None) -> Result:
    """For what went wrong before a turn began."""
    return Result(
        session_id=session_id,
        kind="failed",
        reason="usage",
        answer="",
        model_used=None,
        iterations=0,
        tool_calls=0,
        usage=ResultUsage(),
        cost_usd=None,
        duration_ms=0,
        error=message,
        exit_code=exit_code,
    )


class ResultSink:
    """An `EventSink` that shows nothing and knows the result of the last turn that ended."""

    def __init__(self) -> None:
        self._session_id = ""
        self._model: str | None = None
        self._end: TurnEnded | None = None

    async def emit(self, entry: Entry) -> None:
        self._session_id = entry.session_id
        match entry.event:
            case ModelReplied(model=model):
                self._model = model
            case TurnEnded() as end:
                self._end = end
            case _:
                pass

    def show(self, delta: Delta) -> None:
        pass

    def result(self, exit_code: Callable[[StopReason], int]) -> Result:
        """The result; a turn that never ended was stopped by the program's own end."""
        end = self._end or TurnEnded(
            kind=KINDS["terminated"],
            reason="terminated",
            answer="",
            evidence="The program ended before the turn did.",
            iterations=0,
            tool_calls=0,
            usage=Usage(),
            cost_usd=None,
            duration_s=0.0,
        )
        return Result(
            session_id=self._session_id or None,
            kind=end.kind,
            reason=end.reason,
            answer=end.answer,
            model_used=self._model,
            iterations=end.iterations,
            tool_calls=end.tool_calls,
            usage=_usage(end.usage),
            cost_usd=end.cost_usd,
            duration_ms=round(end.duration_s * 1000),
            error=phrases.ending(end) or None,
            exit_code=exit_code(end.reason),
        )


def _usage(usage: Usage) -> ResultUsage:
    return ResultUsage(
        prompt=usage.prompt, cached=usage.cached, completion=usage.completion, reasoning=usage.reasoning
    )
