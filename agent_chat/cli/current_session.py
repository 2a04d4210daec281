"""What the session that runs can do with its log: write it down, fork it, and say what it cost."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from agent_chat.cli.wiring import Opened
from agent_chat.core.errors import UserError
from agent_chat.sessions.memory import MemoryLog
from agent_chat.sessions.reading import LoadedSession
from agent_chat.sessions.store import SessionStore
from agent_chat.sessions.summary import SessionSummary, summarize
from agent_chat.ui.commands import Booked


def export_session(opened: Opened, argument: str) -> str:
    """Writes the session to a file, and says so. `argument`: a format, a file, both, or nothing."""
    from agent_chat.cli.sessions_transfer import ExportFormat, exported, format_of, write_new

    first, _, rest = argument.partition(" ")
    if first in [*ExportFormat]:
        format_, name = ExportFormat(first), rest.strip()
    else:
        format_, name = None, argument
    try:
        path = Path(name).expanduser() if name else None
    except RuntimeError as error:
        raise UserError(f"{name}: there is no home folder.", hint="Name another file.") from error
    format_ = format_ or format_of(path)
    loaded = _loaded(opened)
    path = path or Path(f"agent-chat-{loaded.summary.id}.{format_}")
    write_new(path, exported(loaded, opened.sessions.results, format_), force=False, how="")
    return f"This session is written to {path.absolute()}."


def fork_session_of(opened: Opened, turn: int | None) -> str:
    """The id of a new session with what this one holds before a turn, or with all of it."""
    from agent_chat.sessions.fork import fork_session

    if not isinstance(opened.sessions, SessionStore):
        raise UserError("Sessions are not kept here: there is nothing to begin from.")
    return fork_session(opened.sessions, opened.log.session_id, time.time(), turn)


def booked(opened: Opened) -> Sequence[Booked]:
    """What the last turn took, and, where sessions are kept, each model in this one, and all of today."""
    spent = opened.session.runtime.journal.state.turn_spent
    lines = [Booked("Last turn", spent.usage, spent.cost, spent.cost_known)] if spent.iterations else []
    if not isinstance(opened.sessions, SessionStore):
        return lines
    from agent_chat.cli.usage import start_of_day
    from agent_chat.sessions.accounts import Account, accounts

    def line(name: str, account: Account) -> Booked:
        return Booked(name, account.usage, account.known_cost_usd, not account.unpriced)

    session_id, midnight = opened.log.session_id, start_of_day(0)
    here = opened.sessions.ask(lambda connection: accounts(connection, "model", session_id=session_id))
    today = opened.sessions.ask(lambda connection: accounts(connection, "model", midnight))
    models = [line(f"By {account.name}", account) for account in here.rows] if len(here.rows) > 1 else []
    return [*lines, *models, line("Today, all sessions", today.total)]


def _loaded(opened: Opened) -> LoadedSession:
    session_id, sessions = opened.log.session_id, opened.sessions
    if isinstance(sessions, SessionStore):
        return sessions.read(session_id)
    # What is not kept is in memory: behind what was kept before, where that can be read but not written.
    past = sessions.resume(session_id)[1] if opened.resumed else ()
    entries = (*past, *(opened.log.entries if isinstance(opened.log, MemoryLog) else ()))
    summary = SessionSummary(session_id)
    for entry in entries:
        summary = summarize(summary, entry)
    return LoadedSession(summary, entries, 0)
