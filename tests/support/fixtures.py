"""The types of the fixtures in conftest.py, for the annotations of tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from support.process import HasBaseUrl, Result
from support.provider import OpenAIReply, ScriptedProvider

if TYPE_CHECKING:  # it cannot be imported on Windows
    from support.terminal import Terminal


class Command(Protocol):
    """Runs one of the two commands to its end.

    The home folder and the working folder are the fixtures `home` and `workspace`, and the environment holds
    nothing of the developer's. Keyword arguments in capitals are variables for it; None takes one away.
    """

    def __call__(
        self,
        *args: str,
        provider: HasBaseUrl | None = None,
        stdin: bytes | None = None,
        timeout: float = 30.0,
        **env: str | None,
    ) -> Result: ...


class OpenTerminal(Protocol):
    """Starts a program (`"agent-chat", ...`) in a terminal; home, folder and environment as for `Command`."""

    def __call__(
        self,
        *args: str,
        provider: HasBaseUrl | None = None,
        rows: int = 24,
        cols: int = 80,
        answer_queries: bool = True,
        **env: str | None,
    ) -> Terminal: ...


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
