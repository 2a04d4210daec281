"""A crash at any event, and while one is written: what is resumed is whole, valid, and does nothing twice."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from support.engine import Box, ManualClock, Results, violations
from support.histories import Step, play, tools, turns

from agent_chat.core.budget import Limits
from agent_chat.core.events import Entry, ModelReplied, ToolFinished, ToolStarted
from agent_chat.core.messages import ToolMessage
from agent_chat.core.observation import UNKNOWN_OUTCOME
from agent_chat.core.permissions import ALL_EFFECTS, AllowEffects
from agent_chat.engine.journal import Journal
from agent_chat.engine.runtime import Rules, Runtime
from agent_chat.engine.session import Session
from agent_chat.models.scripted import ScriptedModel, text
from agent_chat.sessions.store import FILE_NAME, SessionStore

LOG = f"{FILE_NAME}-wal"


def never(problem: str) -> None:
    raise AssertionError(problem)


def crash(folder: Path, entries: Sequence[Entry], torn: float | None) -> Path:
    """The folder as a program leaves it that dies after the last of the entries; `torn`: when so much of the
    last write had reached the file."""
    live, left = folder / "live", folder / "left"
    store = SessionStore(live, never)
    log = store.create(entries[0].at)
    for entry in entries[:-1]:
        log.append(entry)
    before = (live / LOG).stat().st_size
    log.append(entries[-1])
    # As it is now: nothing was closed.
    shutil.copytree(live, left, ignore=shutil.ignore_patterns("locks", "*-shm"))
    log.close()
    store.close()
    if torn is not None:
        after = (left / LOG).stat().st_size
        with (left / LOG).open("r+b") as file:
            file.truncate(before + int(torn * (after - before)))
    return left


async def resumed(session_id: str, entries: Sequence[Entry], written: list[str]) -> ScriptedModel:
    """Goes on with a turn; the model that was asked."""
    model, clock, made = ScriptedModel(text("fine")), ManualClock(), list(entries)

    class Sink:
        async def emit(self, entry: Entry) -> None:
            made.append(entry)

        def show(self, delta: object) -> None: ...

    runtime = Runtime(
        model,
        Box(tools(written), ("hidden",)),
        AllowEffects(ALL_EFFECTS),
        Results(),
        clock,
        Rules(),
        Journal(session_id, Sink(), clock),
    )
    session = Session(runtime)
    await session.resume(entries, "1")
    outcome = await session.turn("and now?")
    assert outcome.reason == "final_answer"
    assert [entry.seq for entry in made] == list(range(1, len(made) + 1))
    return model


def check(entries: Sequence[Entry], model: ScriptedModel) -> None:
    [query] = model.queries
    assert violations(query.messages) == []
    last = max((at for at, entry in enumerate(entries) if isinstance(entry.event, ModelReplied)), default=0)
    results = [message for message in query.messages if isinstance(message, ToolMessage)]
    told = {message.call_id: message.text for message in results}
    running: set[str] = set()
    for entry in entries[last:]:
        match entry.event:
            case ToolStarted():
                running.add(entry.event.call_id)
            case ToolFinished():
                running.discard(entry.event.call_id)
            case _:
                pass
    assert all(told[call_id] == UNKNOWN_OUTCOME for call_id in running)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(turns, st.data())
def test_a_crash_at_any_event_and_in_the_middle_of_a_write(
    turns: list[list[Step]], data: st.DataObject
) -> None:
    async def run() -> None:
        written: list[str] = []
        entries = await play(turns, Limits(), asks=True, written=written)
        cut = data.draw(st.integers(2, len(entries)))
        torn = data.draw(st.one_of(st.none(), st.floats(0, 1)))
        with tempfile.TemporaryDirectory() as folder:
            left = crash(Path(folder), entries[:cut], torn)
            problems: list[str] = []
            store = SessionStore(left, problems.append)
            try:
                [summary] = store.list()
                log, kept = store.resume(summary.id)
            finally:
                store.close()
            log.close()
        events = [entry.event for entry in entries[:cut]]
        # A write that was torn had not been reported as done: it may be lost, and nothing else.
        assert [entry.event for entry in kept] in ([events] if torn is None else [events, events[:-1]])
        assert problems == []
        before = len(written)
        check(kept, await resumed(summary.id, kept, written))
        assert len(written) == before, "nothing that was done is done again"

    asyncio.run(run())
