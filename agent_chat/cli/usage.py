"""`agent-chat usage`: what was spent."""

# Typer evaluates the annotations of a command: they stay real types here.
from datetime import UTC, datetime, timedelta
from datetime import time as midnight
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_chat.cli.session_output import (
    SCHEMA_VERSION,
    ListFormat,
    Output,
    iso,
    past_sessions,
    print_json,
    say,
    table,
)

if TYPE_CHECKING:
    from agent_chat.sessions.accounts import Account, Accounts, By

_DAYS = 30


class UsageBy(StrEnum):
    MODEL = "model"
    TOOL = "tool"
    PROJECT = "project"
    DAY = "day"
    SESSION = "session"
    TURN = "turn"
    ITERATION = "iteration"


def usage(
    days: Annotated[
        int | None,
        typer.Option(
            "--days",
            min=1,
            max=36_500,
            metavar="N",
            help=f"Of today and the days before it; default: {_DAYS}, and all with --session.",
        ),
    ] = None,
    by: Annotated[UsageBy, typer.Option("--by", help="What it is told by.")] = UsageBy.MODEL,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="Of this session only.")
    ] = None,
    output: Output = ListFormat.TEXT,
) -> None:
    """Shows tokens, cost and tool calls of all folders."""
    from agent_chat.core.errors import UserError
    from agent_chat.sessions.accounts import accounts

    if by in (UsageBy.TURN, UsageBy.ITERATION) and session is None:
        raise UserError(f"--by {by} is of one session.", hint="Name it with --session ID.")
    since = 0.0 if session is not None and days is None else start_of_day((days or _DAYS) - 1)
    grouping: By = by.value
    with past_sessions() as store:
        session_id = store.resolve(session) if session is not None else None
        found = store.ask(lambda connection: accounts(connection, grouping, since, session_id))
    if output is ListFormat.JSON:
        print_json(_json(found, by, since))
        return
    if not found.rows:
        say("Nothing was spent in this time.")
        return
    for line in table(_table(found, by), left=1):
        typer.echo(line)
    if missing := _missing(found.total):
        say(missing)


def start_of_day(days_ago: int) -> float:
    """Midnight, local time, in seconds since the epoch."""
    today = datetime.now(UTC).astimezone().date()
    try:
        return datetime.combine(today - timedelta(days=days_ago), midnight.min).astimezone().timestamp()
    except (OverflowError, ValueError, OSError):
        return 0.0


def cost_of(account: "Account") -> str:
    """What is known of the cost, and that more is unknown."""
    known = f"${account.known_cost_usd:.4f}"
    if not account.unpriced:
        return known
    return (
        "unknown"
        if account.unpriced == account.replies or not account.known_cost_usd
        else f"{known} + unknown"
    )


def _table(found: "Accounts", by: UsageBy) -> list[list[str]]:
    from agent_chat.ui.sanitize import one_line

    heads = [by.value, "replies", "tokens in", "cached", "out", "tool calls", "failed", "tool time", "cost"]
    rows = [
        [
            one_line(one.name) or "(unknown)",
            f"{one.replies:,}",
            f"{one.usage.prompt:,}",
            f"{one.usage.cached:,}",
            f"{one.usage.completion:,}",
            f"{one.tool_calls:,}",
            f"{one.failed_calls:,}",
            f"{one.tool_seconds:,.1f} s",
            cost_of(one),
        ]
        for one in (*found.rows, found.total)
    ]
    return [heads, *rows]


def _missing(total: "Account") -> str:
    parts: list[str] = []
    if total.unpriced:
        parts.append(
            f"The cost of {total.unpriced:,} of {total.replies:,} replies is unknown; "
            "`model_info` in the configuration gives a model its price."
        )
    if total.uncounted:
        parts.append(f"Nobody counted the tokens of {total.uncounted:,} of the replies.")
    return " ".join(parts)


def _json(found: "Accounts", by: UsageBy, since: float) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "by": by.value,
        "since": iso(since),
        "rows": [*map(_account_json, found.rows)],
        "total": _account_json(found.total),
    }


def _account_json(account: "Account") -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "name": account.name,
        "sessions": len(account.sessions),
        "replies": account.replies,
        "usage": asdict(account.usage),
        "replies_without_usage": account.uncounted,
        "cost_usd": account.cost_usd,
        "known_cost_usd": account.known_cost_usd,
        "replies_without_cost": account.unpriced,
        "tool_calls": account.tool_calls,
        "failed_tool_calls": account.failed_calls,
        "tool_seconds": round(account.tool_seconds, 3),
    }
