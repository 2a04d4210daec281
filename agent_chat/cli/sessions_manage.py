"""`agent-chat sessions fork`, `delete` and `prune`."""

# Typer evaluates the annotations of a command: they stay real types here.
import time
from typing import Annotated

import typer

from agent_chat.cli.session_output import SessionId, Yes, agreed, amount, moment, past_sessions, say, size

_UNITS = {"h": 3600.0, "d": 86_400.0, "w": 604_800.0, "y": 31_557_600.0}
_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def fork(
    session: SessionId,
    turn: Annotated[
        int | None,
        typer.Option("--turn", min=1, metavar="N", help="Only what was before this turn; default: all."),
    ] = None,
) -> None:
    """Begin a new session with what a past one holds; prints its id."""
    from agent_chat.sessions.fork import fork_session

    with past_sessions() as store:
        new = fork_session(store, store.resolve(session), time.time(), turn)
    typer.echo(new)
    say(f"`agent-chat -r {new}` goes on with it.")


def delete(
    sessions: Annotated[
        list[str], typer.Argument(metavar="ID...", help="Ids of sessions, their beginnings, or last parts.")
    ],
    yes: Yes = False,
) -> None:
    """Delete sessions for good."""
    from agent_chat.sessions.removal import delete_sessions

    with past_sessions() as store:
        ids = list(dict.fromkeys(map(store.resolve, sessions)))
        if not agreed(f"Delete {amount(len(ids), 'session')} for good: {', '.join(ids)}?", yes=yes):
            say("Nothing was deleted.")
            return
        freed = delete_sessions(store, ids)
    say(f"{amount(len(ids), 'session')} deleted; the disk has {size(freed)} more.")


def prune(
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="TIME", help="Not used for so long: 12h, 30d, 8w or 1y."),
    ] = None,
    larger_than: Annotated[
        str | None,
        typer.Option("--larger-than", metavar="SIZE", help="That take more than this: 500kB, 20MB or 1GB."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
    yes: Yes = False,
) -> None:
    """Delete sessions of all folders that are old, or large, or with both options both."""
    from agent_chat.core.errors import UserError
    from agent_chat.sessions.removal import delete_sessions, not_in_use, sizes
    from agent_chat.ui.sanitize import one_line

    before = time.time() - _seconds(older_than) if older_than is not None else None
    more_than = _bytes(larger_than) if larger_than is not None else None
    if before is None and more_than is None:
        raise UserError("Which sessions?", hint="Give --older-than, --larger-than, or both.")
    with past_sessions() as store:
        chosen = [
            one
            for one in sizes(store)
            if (before is None or one.session.last < before) and (more_than is None or one.bytes > more_than)
        ]
        free = set(not_in_use(store, (one.session.id for one in chosen)))
        for one in chosen:
            used = "" if one.session.id in free else "  (in use: it stays)"
            title = one_line(one.session.title) or "(nothing said)"
            typer.echo(f"{one.session.id}  {moment(one.session.last)}  {size(one.bytes):>10}  {title}{used}")
        ids = [one.session.id for one in chosen if one.session.id in free]
        if not ids:
            say("There is nothing to delete.")
            return
        if dry_run:
            say(f"{amount(len(ids), 'session')} would be deleted.")
            return
        if not agreed(f"Delete {amount(len(ids), 'session')} for good?", yes=yes):
            say("Nothing was deleted.")
            return
        freed = delete_sessions(store, ids)
    say(f"{amount(len(ids), 'session')} deleted; the disk has {size(freed)} more.")


def _seconds(text: str) -> float:
    """Raises UserError."""
    number = _number(text[:-1])
    if number is None or text[-1:].lower() not in _UNITS:
        raise _wrong("--older-than", text, "a time such as 12h, 30d, 8w or 1y")
    return number * _UNITS[text[-1].lower()]


def _bytes(text: str) -> float:
    """Raises UserError."""
    plain = text.strip().lower()
    for suffix in ("ib", "b"):
        plain = plain.removesuffix(suffix)
    unit = plain[-1:] if plain[-1:] in _FACTORS and not plain[-1:].isdigit() else ""
    number = _number(plain.removesuffix(unit).strip())
    if number is None:
        raise _wrong("--larger-than", text, "a size such as 500kB, 20MB or 1GB")
    return number * _FACTORS[unit]


def _number(text: str) -> float | None:
    import re

    return float(text) if re.fullmatch(r"\d{1,12}(\.\d{1,6})?", text, re.ASCII) else None


def _wrong(option: str, text: str, wanted: str) -> Exception:
    from agent_chat.core.errors import UserError

    return UserError(f"{option}: {text!r} is not {wanted}.")
