"""`agent-chat -r` without an id: the user picks one of the sessions of this folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer

from agent_chat.cli.session_output import amount, moment, past_sessions
from agent_chat.core.errors import UserError
from agent_chat.sessions.reading import last_said
from agent_chat.sessions.store import SessionStore
from agent_chat.sessions.summary import SessionSummary
from agent_chat.ui.sanitize import one_line

_OFFERED = 15
_PREVIEW = 100
"""Characters."""


def pick_session() -> str | None:
    """The id of the session; None where the user wants none of them. Raises UserError where nobody can be
    asked, or there is none."""
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserError(
            "-r needs the id of a session where nobody can pick one.",
            hint="`agent-chat sessions list` lists them; -c goes on with the latest.",
        )
    here = str(Path.cwd())
    with past_sessions() as store:
        sessions = store.list(_OFFERED, here)
        if not sessions:
            raise UserError(
                f"There is no session of {here} to go on with.",
                hint="`agent-chat sessions list --all` lists those of other folders.",
            )
        for line in _lines(store, sessions):
            typer.echo(line, err=True)
    while True:
        typer.echo(f"Go on with (1 to {len(sessions)}, Enter for none): ", err=True, nl=False)
        answer = sys.stdin.readline().strip()
        if not answer:
            return None
        if answer.isdecimal() and 0 < int(answer) <= len(sessions):
            return sessions[int(answer) - 1].id


def _lines(store: SessionStore, sessions: Sequence[SessionSummary]) -> Iterator[str]:
    for number, summary in enumerate(sessions, start=1):
        title = one_line(summary.title) or "(nothing said)"
        yield f"{number:>2}  {moment(summary.last)}  {amount(summary.turns, 'turn'):>8}  {title}"
        session_id = summary.id
        last = one_line(store.ask(lambda connection, name=session_id: last_said(connection, name))[:1000])
        if last and last != title:
            yield f"    last: {last[:_PREVIEW]}"
