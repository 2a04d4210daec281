"""Clones to start scripts in. Making an environment takes seconds, so most tests share one that is ready."""

from pathlib import Path

import pytest
from support.clone import Clone


@pytest.fixture
def fresh_clone(tmp_path: Path) -> Clone:
    """Nothing is installed."""
    return Clone.make(tmp_path)


@pytest.fixture(scope="module")
def shared_clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    clone = Clone.make(tmp_path_factory.mktemp("shared"))
    result = clone.run("check")
    assert result.code == 0, result.err
    return clone


@pytest.fixture
def clone(shared_clone: Clone) -> Clone:
    """Everything is installed, whatever the test before did to it."""
    shared_clone.lock("run.lock", shared_clone.wheel("one"))
    shared_clone.lock("test.lock", shared_clone.wheel("one"))
    result = shared_clone.run("check")
    assert result.code == 0, result.err
    return shared_clone
