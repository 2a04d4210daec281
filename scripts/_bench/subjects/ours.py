"""Our loop, measured from inside: CPU of iterations, turns and chunks, with the session log on.

python ours.py iterations BASE TRANSPORT       CPU seconds an iteration, from the first tool call to the last
python ours.py turns BASE TRANSPORT COUNT      CPU seconds of every turn
python ours.py long BASE TRANSPORT COUNT       the same, in a window that has to be cleared now and then
python ours.py chunks BASE TRANSPORT COUNT     CPU seconds a streamed chunk
python ours.py eight BASE TRANSPORT KIND       seconds of the fastest turn of eight calls; KIND: async, sync
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, cast

from agent_chat import tool
from agent_chat.core.budget import Limits
from agent_chat.core.permissions import ALL_EFFECTS, AllowEffects
from agent_chat.engine.clock import SystemClock
from agent_chat.engine.journal import Journal
from agent_chat.engine.runtime import ContextRules, Rules, Runtime
from agent_chat.engine.session import Session, SessionInfo
from agent_chat.engine.sinks import InOrder
from agent_chat.models.build import build_model
from agent_chat.models.deployments import ModelConfig
from agent_chat.models.options import RequestOptions
from agent_chat.sessions.store import SessionStore
from agent_chat.tools.toolbox import ToolRegistry

marks: list[float] = []
WINDOW = 16_000
"""Tokens; room is made every thirty turns or so."""


@tool(effect="read")
def step(n: int) -> str:
    """Takes a step.

    Args:
        n: Which one.
    """
    marks.append(time.process_time())
    return f"step {n} done"


@tool(name="step", effect="read")
async def nap(n: int) -> str:
    """Waits 100 ms."""
    await asyncio.sleep(0.1)
    return f"{n} slept"


@tool(name="step", effect="read")
def block(n: int) -> str:
    """Waits 100 ms."""
    time.sleep(0.1)
    return f"{n} slept"


def fail(problem: str) -> None:
    raise RuntimeError(problem)


async def opened(folder: Path, base: str, transport: str, function: Callable[..., Any]) -> Session:
    clock = SystemClock()
    store = SessionStore(folder, fail)
    log = store.create(clock.now())
    model = build_model(
        ModelConfig(),
        "openai/gpt-4.1-mini",
        clock=clock,
        environ={"OPENAI_API_KEY": "sk-scripted"},
        options=RequestOptions(transport=cast("Literal['direct', 'litellm']", transport)),
        api_base=base,
    )
    session = Session(
        Runtime(
            model=model,
            toolbox=ToolRegistry([function]),
            approver=AllowEffects(ALL_EFFECTS),
            results=store.results,
            clock=clock,
            rules=Rules(turn=Limits()),
            journal=Journal(log.session_id, InOrder(log, on_problem=fail), clock),
        )
    )
    await session.start(SessionInfo("bench", "", "You are a helpful assistant."))
    return session


async def turn(session: Session) -> None:
    outcome = await session.turn("Go on.")
    if outcome.reason != "final_answer":
        fail(f"{outcome.reason}: {outcome.evidence}")


async def iterations(folder: Path, base: str, transport: str, _: str) -> Any:
    await turn(await opened(folder, base, transport, step))
    return (marks[-1] - marks[0]) / (len(marks) - 1)


async def turns(folder: Path, base: str, transport: str, count: str) -> Any:
    return await _times(await opened(folder, base, transport, step), int(count))


async def long(folder: Path, base: str, transport: str, count: str) -> Any:
    session = await opened(folder, base, transport, step)
    runtime = session.runtime
    runtime.rules = replace(runtime.rules, context=ContextRules(window=WINDOW))
    times = await _times(session, int(count))
    if runtime.journal.messages_before_compaction() is None:
        fail("no summary was ever written")
    return times


async def _times(session: Session, count: int) -> list[float]:
    times: list[float] = []
    for _ in range(count):
        started = time.process_time()
        await turn(session)
        times.append(time.process_time() - started)
    return times


async def chunks(folder: Path, base: str, transport: str, count: str) -> Any:
    session = await opened(folder, base, transport, step)
    await turn(session)  # connects, and builds what is built once
    started = time.process_time()
    await turn(session)
    return (time.process_time() - started) / int(count)


async def eight(folder: Path, base: str, transport: str, kind: str) -> Any:
    session = await opened(folder, base, transport, nap if kind == "async" else block)
    await turn(session)  # connects, and builds what is built once
    times: list[float] = []
    for _ in range(5):
        started = time.perf_counter()
        await turn(session)
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    what, base, transport, argument = (*sys.argv[1:], "")[:4]
    work = {"iterations": iterations, "turns": turns, "long": long, "chunks": chunks, "eight": eight}[what]
    with TemporaryDirectory() as folder:
        value = asyncio.run(work(Path(folder), base, transport, argument))
    print(json.dumps({"value": value}))  # noqa: T201


if __name__ == "__main__":
    main()
