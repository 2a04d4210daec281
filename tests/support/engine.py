"""Doubles behind the engine's ports: a clock that only moves when told, tools, a sink that remembers."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from agent_chat.core.approval import Preview
from agent_chat.core.budget import Limits
from agent_chat.core.events import Entry, Event
from agent_chat.core.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from agent_chat.core.model import Delta, ToolSpec
from agent_chat.core.observation import Effect, OnFailure, ToolResult
from agent_chat.core.permissions import ALL_EFFECTS, AllowEffects
from agent_chat.core.ports import Approver, ChatModel, Leave, ToolContext, UserInput
from agent_chat.engine.journal import Journal
from agent_chat.engine.runtime import Rules, Runtime
from agent_chat.engine.session import Session, SessionInfo

E = TypeVar("E")
INFO = SessionInfo(program_version="0", workspace="/w", system="You help.")


class ManualClock:
    """Time stands still but for `sleep`, which ends when `advance` has come far enough."""

    def __init__(self, *, instant: bool = False) -> None:
        self.time = 1_000.0
        self.slept: list[float] = []
        self._instant = instant
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self._instant:
            self.time += seconds
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.time + seconds, len(self.slept), future))
        await future

    async def advance(self, seconds: float) -> None:
        self.time += seconds
        while self._sleepers and self._sleepers[0][0] <= self.time:
            _, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)
        await settle()


async def settle() -> None:
    """Lets everything run that can run now."""
    for _ in range(50):
        await asyncio.sleep(0)


class MemorySink:
    """Remembers what it was told; `wait_for` waits until a certain event comes."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.deltas: list[Delta] = []
        self._waiting: list[tuple[type[Event], asyncio.Event]] = []

    async def emit(self, entry: Entry) -> None:
        assert not self.entries or entry.seq == self.entries[-1].seq + 1
        self.entries.append(entry)
        for kind, event in self._waiting:
            if isinstance(entry.event, kind):
                event.set()

    def show(self, delta: Delta) -> None:
        self.deltas.append(delta)

    def of(self, kind: type[E]) -> list[E]:
        return [entry.event for entry in self.entries if isinstance(entry.event, kind)]

    def types(self) -> list[str]:
        return [entry.event.type for entry in self.entries]

    async def wait_for(self, kind: type[Event]) -> None:
        event = asyncio.Event()
        self._waiting.append((kind, event))
        await asyncio.wait_for(event.wait(), 5)


class Results:
    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def put(self, text: str) -> str:
        result_id = f"r{len(self.texts) + 1}"
        self.texts[result_id] = text
        return result_id

    def get(self, result_id: str) -> str | None:
        return self.texts.get(result_id)


@dataclass
class FakeTool:
    """A tool whose body is a function of its arguments."""

    name: str
    body: Callable[[Mapping[str, Any]], Awaitable[ToolResult | str] | ToolResult | str]
    effect: Effect = "read"
    timeout: float | None = 30
    retries: int = 0
    on_failure: OnFailure = "observe"
    required: tuple[str, ...] = ()
    contexts: list[ToolContext] = field(default_factory=list[ToolContext])

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, f"Does {self.name}.", {"type": "object", "properties": {}})

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        for name in self.required:
            if name not in arguments:
                raise ValueError(f"missing argument {name!r}")
        return dict(arguments)

    async def preview(self, arguments: Mapping[str, Any]) -> Preview | None:
        return Preview("text", f"would do {self.name}")

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        self.contexts.append(context)
        result = self.body(arguments)
        if isinstance(result, Awaitable):
            result = await result
        return ToolResult(result) if isinstance(result, str) else result


class Box:
    def __init__(self, tools: Iterable[FakeTool], hidden: Iterable[str] = ()) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._hidden = frozenset(hidden)

    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self._tools.values())

    def get(self, name: str) -> FakeTool | None:
        return self._tools.get(name)

    def exists(self, name: str) -> bool:
        return name in self._tools or name in self._hidden


def echo() -> FakeTool:
    return FakeTool("echo", lambda arguments: str(arguments["text"]), required=("text",))


def end_chat() -> FakeTool:
    return FakeTool("end_chat", lambda _: ToolResult("The chat ends after this turn.", ends_chat=True))


def call(call_id: str, name: str, arguments: str = "{}") -> ToolCall:
    return ToolCall(call_id, name, arguments)


class Inputs:
    """Gives prepared lines, then leaves."""

    def __init__(self, *lines: str) -> None:
        self.left = list(lines)

    async def next(self) -> UserInput | Leave:
        return UserInput(self.left.pop(0)) if self.left else Leave("eof")


@dataclass
class Bench:
    """A session with everything around it."""

    session: Session
    sink: MemorySink
    clock: ManualClock
    results: Results

    def messages(self) -> tuple[Message, ...]:
        return self.session.runtime.journal.messages()

    def tool_texts(self) -> list[str]:
        return [message.text for message in self.messages() if isinstance(message, ToolMessage)]


def bench(
    model: ChatModel,
    *tools: FakeTool,
    rules: Rules | None = None,
    turn: Limits | None = None,
    approver: Approver | None = None,
    clock: ManualClock | None = None,
    hidden: Iterable[str] = (),
) -> Bench:
    sink, clock, results = MemorySink(), clock or ManualClock(), Results()
    runtime = Runtime(
        model,
        Box(tools, hidden),
        approver or AllowEffects(ALL_EFFECTS),
        results,
        clock,
        rules or Rules(turn=turn or Limits(iterations=50)),
        Journal("s1", sink, clock),
    )
    return Bench(Session(runtime), sink, clock, results)


def violations(messages: Iterable[Message]) -> list[str]:
    """What a strict provider would refuse in a history."""
    found: list[str] = []
    owed: list[str] = []
    last: Message | None = None
    for index, message in enumerate(messages):
        if owed and not isinstance(message, ToolMessage):
            found.append(f"{index}: calls {owed} unanswered")
            owed = []
        match message:
            case ToolMessage():
                if message.call_id not in owed:
                    found.append(f"{index}: answers {message.call_id}, which nobody asked")
                else:
                    owed.remove(message.call_id)
            case AssistantMessage():
                if not message.text.strip() and not message.calls:
                    found.append(f"{index}: assistant says nothing")
                if isinstance(last, AssistantMessage):
                    found.append(f"{index}: two assistant messages in a row")
                owed = [one.id for one in message.calls]
            case UserMessage():
                if isinstance(last, UserMessage):
                    found.append(f"{index}: two user messages in a row")
            case _:
                if index:
                    found.append(f"{index}: a system message inside")
        last = message
    if owed:
        found.append(f"calls {owed} unanswered at the end")
    return found
