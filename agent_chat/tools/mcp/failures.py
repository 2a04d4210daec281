"""What went wrong with a server, in one line."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator

from agent_chat.tools.mcp.text import one_line

LONGEST_REASON = 300


class ServerFailed(Exception):
    """A server cannot be used; the text says which and why."""


def reason_of(error: BaseException) -> str:
    """The first thing in an error, nested groups and all, that says something."""
    texts = [_text(leaf) for leaf in leaves(error)]
    return one_line(next(filter(None, texts), "it ended without a word"), LONGEST_REASON)


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors of nested groups; cancellations are left out."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            yield from leaves(inner)  # pyright: ignore[reportUnknownArgumentType]
    elif not isinstance(error, asyncio.CancelledError):
        yield error


def _text(error: BaseException) -> str:
    text = _without_query(str(error))
    if isinstance(error, OSError) and error.strerror:
        text = error.strerror
    name = type(error).__name__
    if not text:
        return name
    return text if name in ("MCPError", "ServerFailed", "OSError", "RuntimeError") else f"{name}: {text}"


def _without_query(text: str) -> str:
    """Addresses hold keys in their query and before the host."""
    text = re.sub(r"(https?://)[^/\s@]*@", r"\1", text)
    return re.sub(r"(https?://[^\s?#'\"]*)\?[^\s'\"]*", r"\1?…", text)
