"""Fixtures that every test may use. How to write a robustness test: support/README.md."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from support.fixtures import Command, OpenTerminal, ProviderFactory
from support.process import HasBaseUrl, Result, clean_env, run
from support.provider import OpenAIReply, ScriptedProvider

if TYPE_CHECKING:
    from support.terminal import Terminal


# The same examples every time, and no verdict that depends on how busy the machine is.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


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


@pytest.fixture
def single(home: Path, workspace: Path) -> Command:
    """`single("hi", provider=p)`: `agent-single hi` to its end."""
    return _command("agent-single", home, workspace)


@pytest.fixture
def chat(home: Path, workspace: Path) -> Command:
    """`chat(provider=p, stdin=b"one\\ntwo\\n")`: `agent-chat` fed from a pipe, to its end."""
    return _command("agent-chat", home, workspace)


@pytest.fixture
def terminal(home: Path, workspace: Path) -> Iterator[OpenTerminal]:
    """`terminal("agent-chat", provider=p, rows=10)`: a program in a pseudo-terminal, killed afterwards."""
    if sys.platform == "win32":
        pytest.skip("needs a pseudo-terminal")
    from support.terminal import Terminal

    with ExitStack() as stack:

        def start(
            *args: str,
            provider: HasBaseUrl | None = None,
            rows: int = 24,
            cols: int = 80,
            answer_queries: bool = True,
            **env: str | None,
        ) -> Terminal:
            environment = clean_env(home, provider, **{"TERM": "xterm-256color", **env})
            return stack.enter_context(
                Terminal(
                    args, env=environment, rows=rows, cols=cols, cwd=workspace, answer_queries=answer_queries
                )
            )

        yield start


def _command(name: str, home: Path, workspace: Path) -> Command:
    def command(
        *args: str,
        provider: HasBaseUrl | None = None,
        stdin: bytes | None = None,
        timeout: float = 30.0,
        **env: str | None,
    ) -> Result:
        environment = clean_env(home, provider, **env)
        return run([name, *args], env=environment, stdin=stdin, cwd=workspace, timeout=timeout)

    return command
