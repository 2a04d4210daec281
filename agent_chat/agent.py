"""The library: an agent from a model, functions and limits, without terminal and without files.

agent = Agent("openai/gpt-5-mini", tools=[population])
print(agent.run_sync("How many people live in Bergen?").answer)
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from agent_chat import __version__
from agent_chat.core.budget import Limits
from agent_chat.core.events import Entry
from agent_chat.core.messages import Message
from agent_chat.core.outcome import Outcome
from agent_chat.core.permissions import ALL_EFFECTS, AllowEffects
from agent_chat.core.ports import Approver, ChatModel, EventSink, Tool
from agent_chat.core.redaction import from_environment
from agent_chat.engine.clock import SystemClock
from agent_chat.engine.journal import Journal
from agent_chat.engine.runtime import Rules, Runtime
from agent_chat.engine.session import Session, SessionInfo
from agent_chat.engine.sinks import InOrder


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What one turn came to."""

    outcome: Outcome
    messages: tuple[Message, ...]
    """The messages that the turn added to the conversation."""
    events: tuple[Entry, ...]
    """Everything that happened in the turn, in order."""

    @property
    def answer(self) -> str:
        return self.outcome.answer


class Agent:
    """One conversation with a model that may call Python functions.

    `model` is a LiteLLM model string, or any `ChatModel`; keys come from the environment. Every tool that is
    given may be called, unless an `approver` says otherwise. `sink` is told of every event and delta. Raises
    UserError where there is no such model, ValueError or TypeError where a function cannot be a tool.
    """

    def __init__(
        self,
        model: str | ChatModel,
        *,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        system: str = "",
        limits: Limits | None = None,
        session_limits: Limits | None = None,
        approver: Approver | None = None,
        sink: EventSink | None = None,
    ) -> None:
        from agent_chat.sessions.ids import create_session_id
        from agent_chat.sessions.memory import MemoryLog
        from agent_chat.sessions.results import MemoryResults
        from agent_chat.tools.builtin.results import result_tools
        from agent_chat.tools.toolbox import ToolRegistry

        clock = SystemClock()
        results = MemoryResults()
        given = list(tools)
        self._log = MemoryLog(create_session_id(clock.now()))
        others = () if sink is None else (sink,)
        redact = from_environment(os.environ)
        self._session = Session(
            Runtime(
                model=_model(model, clock) if isinstance(model, str) else model,
                toolbox=ToolRegistry([*given, *result_tools(results)] if given else ()),
                approver=approver or AllowEffects(ALL_EFFECTS),
                results=results,
                clock=clock,
                rules=_rules(limits, session_limits),
                journal=Journal(
                    self._log.session_id, InOrder(self._log, *others, on_problem=_raise), clock, redact
                ),
                window_of=_windows() if isinstance(model, str) else lambda name: None,
            )
        )
        self._info = SessionInfo(__version__, "", system)
        self._started = False
        self._busy = asyncio.Lock()
        self._runner: asyncio.Runner | None = None

    async def run(self, message: str) -> TurnResult:
        """Runs one turn. Failures of the model and reached limits are outcomes, not exceptions; a second turn
        waits for the first. Cancelling it stops the turn and leaves the conversation valid."""
        async with self._busy:
            if not self._started:
                self._started = True
                await self._session.start(self._info)
            said, logged = len(self.messages), len(self._log.entries)
            outcome = await self._session.turn(message)
            return TurnResult(outcome, self.messages[said:], tuple(self._log.entries[logged:]))

    def run_sync(self, message: str) -> TurnResult:
        """`run` where no event loop runs. Raises RuntimeError inside one.

        The agent keeps a loop of its own for this, so that connections and a loaded model serve the next
        turn too; `with Agent(…) as agent:` closes them at the end.
        """
        if self._runner is None:
            self._runner = asyncio.Runner()
        return self._runner.run(self.run(message))

    def interrupt(self) -> bool:
        """Stops the turn that runs; false where none does."""
        return self._session.interrupt()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far, as the model is shown it."""
        return self._session.runtime.journal.messages()

    async def close(self) -> None:
        """Frees what the model holds."""
        await self._session.runtime.model.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._runner is not None:
            self._runner.run(self.close())
            self._runner.close()
            self._runner = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.close()


def _rules(limits: Limits | None, session_limits: Limits | None) -> Rules:
    rules = Rules()
    return Rules(turn=limits or rules.turn, session=session_limits or rules.session)


def _model(name: str, clock: SystemClock) -> ChatModel:
    from agent_chat.models.build import build_model
    from agent_chat.models.deployments import ModelConfig
    from agent_chat.models.local_model import LocalModel

    return build_model(ModelConfig(), name, clock=clock, environ=os.environ, local_factory=LocalModel)


def _windows() -> Callable[[str], int | None]:
    from agent_chat.models.deployments import ModelConfig
    from agent_chat.models.windows import Windows

    return Windows(ModelConfig()).of


def _raise(problem: str) -> None:
    """A sink of the caller's that fails is the caller's bug, and theirs to see."""
    raise RuntimeError(problem)
