"""A session of many turns: it neither slows down nor runs out of window, and forgets nothing."""

from __future__ import annotations

import itertools
from pathlib import Path
from statistics import median

import pytest
from support.engine import violations
from support.long_session import SUMMARY, talk

from agent_chat.core.events import UserSaid
from agent_chat.core.projection import project
from agent_chat.sessions.search import search_sessions
from agent_chat.sessions.store import SessionStore

WINDOW = 32_000
TEXT_OF_A_TURN = 5_000
"""Bytes of what is said, called, returned and answered."""

lengths = pytest.mark.parametrize("turns", [200, pytest.param(1_000, marks=pytest.mark.live)])


def _no_problem(problem: str) -> None:
    raise AssertionError(problem)


@lengths
async def test_a_turn_costs_at_the_end_what_it_cost_at_the_beginning(tmp_path: Path, turns: int) -> None:
    model, costs, session_id = await talk(tmp_path, turns, window=WINDOW)
    assert median(costs.cpu[-10:]) <= 4 * median(costs.cpu[4:15])
    assert model.most_tokens < WINDOW
    store = SessionStore(tmp_path, _no_problem)
    entries = store.read(session_id).entries
    [found] = search_sessions(store, "very first", 5)
    store.close()
    assert (found.session.id, found.hits[0].turn) == (session_id, 1)
    events = [entry.event for entry in entries]
    types = [event.type for event in events]
    assert types.count("context_compacted") >= turns // 30
    assert types.count("context_shortened") == 0
    said = [event.text for event in events if isinstance(event, UserSaid)]
    assert len(said) == turns
    assert said[0] == "message 1: the very first one"
    # What the model sees now follows from the log alone, and still has what the session began with.
    messages = project(events)
    assert messages[: len(model.last)] == model.last
    assert violations(messages) == []
    assert "the very first one" in messages[1].text
    assert SUMMARY.strip() in messages[1].text


@lengths
async def test_memory_grows_by_what_was_said_and_by_nothing_else(tmp_path: Path, turns: int) -> None:
    _, costs, _ = await talk(tmp_path, turns, window=WINDOW, memory=True)
    grown = [after - before for before, after in itertools.pairwise(costs.memory)]
    assert max(grown) <= 100 * 2 * TEXT_OF_A_TURN
