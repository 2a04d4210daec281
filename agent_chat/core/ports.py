"""The doors through which the engine sees the world, each with its promises."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from agent_chat.core.approval import Approval, ApprovalRequest, NeedsPerson, Preview, Revise, Verdict
from agent_chat.core.events import Entry, FileChanged, LeaveReason, ModelNotice
from agent_chat.core.model import Delta, ModelDelta, Query, Reply, ToolSpec
from agent_chat.core.observation import Effect, OnFailure, ToolResult

ModelItem = ModelDelta | ModelNotice | Reply


class ChatModel(Protocol):
    """Answers queries.

    `stream` yields deltas and notices as they happen and exactly one `Reply`, last. It raises
    `ModelFailure` and nothing else (but cancellation). Cancelling the consumer or closing the
    generator closes the request at once; the consumer closes it (`aclose`) when it stops early.
    Deltas that were yielded before an `AttemptFailed` notice belong to a discarded attempt.
    """

    @property
    def name(self) -> str:
        """The model as the user calls it."""
        ...

    def stream(self, query: Query) -> AsyncGenerator[ModelItem, None]: ...

    async def warm(self, query: Query) -> None:
        """Prepares for queries that begin like this one. May do nothing; never raises; may be cancelled."""
        ...

    async def close(self) -> None:
        """Frees what the model holds. May be called twice."""
        ...


async def _unrecorded(event: FileChanged) -> None:
    """Where nobody keeps a log."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a running tool may know of its call."""

    call_id: str
    session_id: str
    idempotency_key: str
    """The same for every attempt of one call, different for any other call, also of other sessions."""
    output: Callable[[str], None]
    """Shows a piece of output while the tool runs; cheap, never raises. Safe from any thread."""
    record: Callable[[FileChanged], Awaitable[None]] = _unrecorded
    """Journals a change of a file. Awaited before the file is touched; never raises."""


class Tool(Protocol):
    """Something that the model may ask for."""

    @property
    def spec(self) -> ToolSpec: ...
    @property
    def effect(self) -> Effect: ...
    @property
    def timeout(self) -> float | None:
        """Seconds that one attempt may take; None for as long as it takes (a person answers)."""
        ...

    @property
    def retries(self) -> int:
        """How often a retryable failure is tried again; 0 unless `on_failure` is `retry`."""
        ...

    @property
    def on_failure(self) -> OnFailure: ...

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the tool wants them, JSON-compatible. Raises ValueError whose text tells the model
        what is wrong."""
        ...

    async def preview(self, arguments: Mapping[str, Any]) -> Preview | None:
        """What these validated arguments would do, without doing it; None where the arguments say it all.
        May raise, which is shown as the failure it would have."""
        ...

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Runs with validated arguments. May raise anything; is cancelled on time-out and interrupt, after
        which nothing of it may go on."""
        ...


class Toolbox(Protocol):
    """The tools of a session, by name. Never blocks, never raises."""

    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is offered; in the same order every time."""
        ...

    def get(self, name: str) -> Tool | None:
        """None where there is no such tool or it is not allowed in this session."""
        ...

    def exists(self, name: str) -> bool:
        """Whether there is such a tool, allowed or not."""
        ...


class Approver(Protocol):
    """Decides whether a valid intent may run. Never raises."""

    def judge(self, request: ApprovalRequest) -> Verdict:
        """What the rules say. Never waits."""
        ...

    async def ask(
        self, request: ApprovalRequest, preview: Preview | None, verdict: NeedsPerson, revise: Revise
    ) -> Approval:
        """What a person says, however long that takes; `Denied` where nobody can be asked. An interrupt
        cancels it. `revise` tells what changed arguments would do; those of `Approved` are checked in the
        same way."""
        ...


class EventSink(Protocol):
    """Is told everything, in order. Never raises: a failure inside is its own to report."""

    async def emit(self, entry: Entry) -> None:
        """Returns when the entry is kept. The next entry comes only after that."""
        ...

    def show(self, delta: Delta) -> None:
        """Something to show at once, that is not kept. Must not block."""
        ...


class ResultStore(Protocol):
    """Keeps whole tool results of which the model is shown only a part. Never raises."""

    def put(self, text: str) -> str:
        """Keeps a text and gives the id to read it by; the same text has the same id."""
        ...

    def get(self, result_id: str) -> str | None: ...


class ContentStore(Protocol):
    """Keeps what files held before they were changed. Never raises."""

    def put(self, content: bytes) -> str:
        """Keeps a content; the id is its SHA-256 in hexadecimal."""
        ...

    def get(self, content_id: str) -> bytes | None: ...


@dataclass(frozen=True, slots=True)
class UserInput:
    text: str


@dataclass(frozen=True, slots=True)
class Leave:
    """The user is done."""

    reason: LeaveReason


@dataclass(frozen=True, slots=True)
class Compact:
    """The user wants the older messages replaced by a summary."""

    focus: str = ""
    """What it is to look at above all."""


class InputSource(Protocol):
    """Where user messages come from. Cancellable; never raises."""

    async def next(self) -> UserInput | Compact | Leave: ...


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds that only grow."""
        ...

    async def sleep(self, seconds: float) -> None: ...
