"""Whatever happened in whatever order: it happens again from the log alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from support.engine import Box, ManualClock
from support.histories import Step, limits, play, tools, turns

from agent_chat.core.budget import Limits
from agent_chat.core.events import Entry
from agent_chat.engine.replay.run import Replay


async def again(entries: Sequence[Entry], *, known: bool) -> None:
    replay = Replay(entries, toolbox=Box(tools(), ("hidden",)) if known else None, clock=ManualClock())
    replayed = [turn async for turn in replay.turns()]
    assert [str(turn.difference or turn.problem) for turn in replayed if not turn.is_same] == []
    assert [turn.number for turn in replayed] == list(replay.numbers)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(turns, limits, st.booleans(), st.booleans())
def test_any_history_happens_again(turns: list[list[Step]], turn: Limits, asks: bool, known: bool) -> None:
    async def run() -> None:
        entries = await play(turns, turn, asks=asks)
        await again(entries, known=known)

    asyncio.run(run())


@settings(max_examples=60, deadline=None, derandomize=True)
@given(turns, st.data())
def test_a_history_that_a_crash_cut_off_happens_again_as_far_as_it_goes(
    turns: list[list[Step]], data: st.DataObject
) -> None:
    async def run() -> None:
        entries = await play(turns, Limits(), asks=True)
        cut = data.draw(st.integers(1, len(entries)))
        replay = Replay(entries[:cut], clock=ManualClock())
        replayed = [turn async for turn in replay.turns()]
        assert [str(turn.difference) for turn in replayed if turn.difference] == []
        assert all(turn.ended for turn in replayed[:-1])
        assert sum(turn.entries for turn in replayed if not turn.problem) <= cut

    asyncio.run(run())
