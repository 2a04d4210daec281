from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_chat.sessions.store import SessionStore


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def problems() -> list[str]:
    """What the user was told."""
    return []


@pytest.fixture
def store(folder: Path, problems: list[str]) -> Iterator[SessionStore]:
    store = SessionStore(folder, problems.append)
    yield store
    store.close()
