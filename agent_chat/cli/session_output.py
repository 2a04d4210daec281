"""What the commands about past sessions share: the store they read, and how they print."""

# Typer evaluates the annotations of a command: they stay real types here.
import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from agent_chat.core.model import Usage
    from agent_chat.sessions.store import SessionStore
    from agent_chat.sessions.summary import SessionSummary

SCHEMA_VERSION = 1


class ListFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


Output = Annotated[ListFormat, typer.Option("--output", help="How to print it.")]
SessionId = Annotated[
    str, typer.Argument(metavar="ID", help="The id of a session, its beginning, or its last part.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


@contextmanager
def past_sessions() -> "Generator[SessionStore]":
    """Raises StoreUnavailable."""
    from agent_chat.sessions.store import open_store

    store = open_store(say)
    try:
        yield store
    finally:
        store.close()


def say(message: str) -> None:
    """On standard error."""
    from agent_chat.ui.sanitize import one_line

    typer.echo(one_line(message), err=True)


def print_json(value: dict[str, Any]) -> None:
    from agent_chat.ui.sanitize import json_safe

    typer.echo(json_safe(json.dumps(value, ensure_ascii=False)))


def agreed(question: str, *, yes: bool) -> bool:
    """Whether the user agrees. Raises UserError where nobody can be asked."""
    import sys

    from agent_chat.core.errors import UserError

    if yes:
        return True
    if not (sys.stdin is not None and sys.stdin.isatty()):
        raise UserError("This has to be confirmed, and nobody can be asked here.", hint="Add --yes.")
    typer.echo(f"{question} [y/N] ", err=True, nl=False)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def moment(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def iso(at: float) -> str:
    """ISO 8601 in UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def tokens(usage: "Usage") -> str:
    return f"{usage.prompt:,} + {usage.completion:,} tokens"


def cost(dollars: float | None) -> str:
    return "unknown" if dollars is None else f"${dollars:.4f}"


def amount(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size(number: int) -> str:
    """`1.2 MB`."""
    value, units = float(number), ["bytes", "kB", "MB", "GB", "TB"]
    while value >= 1000 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{number} bytes" if units[0] == "bytes" else f"{value:.1f} {units[0]}"


def table(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Lines of aligned columns, the first `left` of them to the left."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def summary_json(summary: "SessionSummary") -> dict[str, Any]:
    """As `sessions list` prints it; times are ISO 8601 in UTC."""
    return asdict(summary) | {"started": iso(summary.started), "last": iso(summary.last)}
