"""A conversation of many turns in this process, over a real session database, and what it costs."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path

from agent_chat.core.messages import Message, ToolMessage, UserMessage
from agent_chat.core.model import Query, Reply, Usage
from agent_chat.core.permissions import ALL_EFFECTS, AllowEffects
from agent_chat.core.ports import ModelItem
from agent_chat.core.tokens import estimate_message
from agent_chat.engine.clock import SystemClock
from agent_chat.engine.journal import Journal
from agent_chat.engine.runtime import ContextRules, Rules, Runtime
from agent_chat.engine.session import Session
from agent_chat.engine.sinks import InOrder
from agent_chat.sessions.store import SessionStore
from support.engine import INFO, Box, call, echo

SUMMARY = "## Goal\nA long talk.\n\n## Facts\n" + "A fact. " * 100


class Talker:
    """Calls a tool once a turn, then answers; counts like a provider; keeps the last query only."""

    name = "talker"

    def __init__(self) -> None:
        self.queries = 0
        self.most_tokens = 0
        self.last: tuple[Message, ...] = ()
        self._sizes: dict[int, tuple[Message, int]] = {}

    async def stream(self, query: Query) -> AsyncGenerator[ModelItem, None]:
        self.queries += 1
        self.last = query.messages
        prompt = self._count(query)
        self.most_tokens = max(self.most_tokens, prompt)
        yield self._reply(query.messages[-1], Usage(prompt, 0, 300))

    def _reply(self, last: Message, usage: Usage) -> Reply:
        if isinstance(last, UserMessage) and "## Open points" in last.text:
            return Reply(SUMMARY, usage=usage)
        if isinstance(last, ToolMessage):
            return Reply(f"answer {self.queries} " + "word " * 120, usage=usage)
        arguments = f'{{"text": "{self.queries} {"r" * 1500}"}}'
        return Reply("", (call(f"c{self.queries}", "echo", arguments),), "tool_calls", usage=usage)

    def _count(self, query: Query) -> int:
        """Not a part of what is measured: each message is counted once."""
        sizes = {id(one): self._sizes.get(id(one)) or (one, estimate_message(one)) for one in query.messages}
        self._sizes = sizes
        return sum(size for _, size in sizes.values())

    async def warm(self, query: Query) -> None: ...

    async def close(self) -> None: ...


@dataclass
class Costs:
    """What the turns of a session took."""

    cpu: list[float] = field(default_factory=list[float])
    """Seconds of CPU of each turn."""
    memory: list[int] = field(default_factory=list[int])
    """Bytes that Python holds after every hundredth turn; measured where that was asked for."""


async def talk(folder: Path, turns: int, *, window: int, memory: bool = False) -> tuple[Talker, Costs, str]:
    """The model, the costs, and the id of the session, which is kept in `folder`."""
    model, clock, costs = Talker(), SystemClock(), Costs()
    store = SessionStore(folder, _no_problem)
    log = store.create(clock.now())
    session = Session(
        Runtime(
            model,
            Box([echo()]),
            AllowEffects(ALL_EFFECTS),
            store.results,
            clock,
            Rules(context=ContextRules(window=window)),
            Journal(log.session_id, InOrder(log, on_problem=_no_problem), clock),
        )
    )
    await session.start(INFO)
    if memory:
        tracemalloc.start()
    try:
        for number in range(1, turns + 1):
            started = time.process_time()
            outcome = await session.turn(
                f"message {number}: " + ("the very first one" if number == 1 else "more " * 60)
            )
            costs.cpu.append(time.process_time() - started)
            assert outcome.reason == "final_answer", outcome
            if memory and number % 100 == 0:
                gc.collect()
                costs.memory.append(tracemalloc.get_traced_memory()[0])
        await session.end("exit")
    finally:
        tracemalloc.stop()
        log.close()
        store.close()
    return model, costs, log.session_id


def _no_problem(problem: str) -> None:
    raise AssertionError(problem)
