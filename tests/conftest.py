"""Fixtures that every test may use. How to write a robustness test: support/README.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest
from support.provider import OpenAIReply, ScriptedProvider


class ProviderFactory(Protocol):
    """Starts a scripted provider; the test fails when its script was not followed."""

    def __call__(
        self,
        *replies: OpenAIReply,
        strict: bool = False,
        models: Sequence[str] | None = None,
        allow_unused: bool = False,
        allow_failures: bool = False,
    ) -> ScriptedProvider: ...


@pytest.fixture
def provider() -> Iterator[ProviderFactory]:
    """`provider(R1, R2, strict=True)`: a running `ScriptedProvider`, stopped and checked afterwards."""
    with ExitStack() as stack:

        def start(
            *replies: OpenAIReply,
            strict: bool = False,
            models: Sequence[str] | None = None,
            allow_unused: bool = False,
            allow_failures: bool = False,
        ) -> ScriptedProvider:
            server = ScriptedProvider(
                replies,
                strict=strict,
                models=models,
                allow_unused=allow_unused,
                allow_failures=allow_failures,
            )
            return stack.enter_context(server)

        yield start


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home folder."""
    path = tmp_path / "home"
    path.mkdir()
    return path


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty working folder."""
    path = tmp_path / "workspace"
    path.mkdir()
    return path
