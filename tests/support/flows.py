"""What tests of whole processes look at: what was sent, and what is kept on the disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent_chat.core.events import Entry, Event, UserSaid
from agent_chat.sessions.store import SessionStore

QUICK = ("-C", "request.retries=1")
"""One retry, so that a test waits half a second instead of two."""


def tool_results(body: dict[str, Any]) -> dict[str, str]:
    """The contents of the tool messages of a request, by call id."""
    return {
        message["tool_call_id"]: message["content"]
        for message in body["messages"]
        if message["role"] == "tool"
    }


def said(body: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Role and text of a request's messages, without the system message."""
    return [(message["role"], message["content"]) for message in body["messages"][1:]]


def state_folder(home: Path) -> Path:
    return home / ".local" / "state" / "agent-chat"


def session_ids(home: Path) -> list[str]:
    """The latest session first."""
    store = SessionStore(state_folder(home), _no_problem)
    try:
        return [summary.id for summary in store.list()]
    finally:
        store.close()


def log_of(home: Path, session_id: str | None = None) -> tuple[Entry, ...]:
    """The log of a session, of the latest one without an id. Fails where any of it is damaged."""
    store = SessionStore(state_folder(home), _no_problem)
    try:
        return store.read(session_id or store.list(1)[0].id).entries
    finally:
        store.close()


def of_type(entries: Sequence[Entry], name: str) -> list[Any]:
    """The events of this type, in order."""
    found: list[Event] = [entry.event for entry in entries if entry.event.type == name]
    return found


def user_texts(entries: Sequence[Entry]) -> list[str]:
    return [entry.event.text for entry in entries if isinstance(entry.event, UserSaid)]


def _no_problem(problem: str) -> None:
    raise AssertionError(f"the session database: {problem}")
