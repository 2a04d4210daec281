"""`agent-chat sessions`: what was said before."""

# Typer evaluates the annotations of a command: they stay real types here.
import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from agent_chat.core.model import Usage
    from agent_chat.sessions.reading import LoadedSession
    from agent_chat.sessions.store import SessionStore
    from agent_chat.sessions.summary import SessionSummary
    from agent_chat.sessions.transcript import ToolUse, TurnRecord

app = typer.Typer(help="List and show past sessions.", no_args_is_help=True)

SCHEMA_VERSION = 1


class ListFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


Output = Annotated[ListFormat, typer.Option("--output", help="How to print it.")]


@app.command("list")
def list_(
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="At most so many.")] = 20,
    all_: Annotated[bool, typer.Option("--all", help="Of all folders, not only of this one.")] = False,
    output: Output = ListFormat.TEXT,
) -> None:
    """List past sessions, the last one used first."""
    with _store() as store:
        here = str(Path.cwd())
        sessions = store.list(limit, None if all_ else here)
        if output is ListFormat.JSON:
            _print_json({"schema_version": SCHEMA_VERSION, "sessions": [*map(_summary_json, sessions)]})
            return
        for summary in sessions:
            typer.echo(_summary_line(summary, with_folder=all_))
        if not sessions:
            elsewhere = not all_ and bool(store.list(1))
            _say(
                "There are no sessions yet."
                if not elsewhere
                else f"No sessions in {here}; --all shows others."
            )


@app.command()
def show(
    session: Annotated[
        str, typer.Argument(metavar="ID", help="The id of a session, its beginning, or its last part.")
    ],
    output: Output = ListFormat.TEXT,
) -> None:
    """Show a session turn by turn."""
    from agent_chat.sessions.transcript import turns_of

    with _store() as store:
        loaded = store.read(store.resolve(session))
    turns = turns_of(loaded.entries)
    if output is ListFormat.JSON:
        _print_json(_session_json(loaded, turns))
        return
    typer.echo(_heading(loaded.summary))
    for turn in turns:
        typer.echo("\n" + "\n".join(_turn_lines(turn)))


@app.command()
def undo(
    session: Annotated[
        str, typer.Argument(metavar="ID", help="The id of a session, its beginning, or its last part.")
    ],
    last: Annotated[int, typer.Option("--last", min=1, metavar="N", help="The last so many changes.")] = 1,
    all_: Annotated[bool, typer.Option("--all", help="All changes of the session.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also where something else changed the file since.")
    ] = False,
) -> None:
    """Take back what tools changed in files, the last change first."""
    from agent_chat.cli.undo import take_back_past

    with _store() as store:
        for told in take_back_past(store, store.resolve(session), None if all_ else last, force=force):
            typer.echo(told)


@contextmanager
def _store() -> "Generator[SessionStore]":
    from agent_chat.sessions.store import open_store

    store = open_store(_say)
    try:
        yield store
    finally:
        store.close()


def _say(message: str) -> None:
    from agent_chat.ui.sanitize import one_line

    typer.echo(one_line(message), err=True)


def _print_json(value: dict[str, Any]) -> None:
    from agent_chat.ui.sanitize import json_safe

    typer.echo(json_safe(json.dumps(value, ensure_ascii=False)))


def _summary_line(summary: "SessionSummary", *, with_folder: bool) -> str:
    from agent_chat.ui.sanitize import one_line

    turns = f"{summary.turns} turn{'' if summary.turns == 1 else 's'}"
    folder = f"  ({one_line(summary.workspace)})" if with_folder else ""
    title = one_line(summary.title) or "(nothing said)"
    return f"{summary.id}  {_time(summary.last)}  {turns:>9}  {_cost(summary.cost_usd):>9}  {title}{folder}"


def _heading(summary: "SessionSummary") -> str:
    from agent_chat.ui.sanitize import one_line

    lines = (
        f"Session {summary.id}: {one_line(summary.title)}",
        f"  {_time(summary.started)} to {_time(summary.last)}, "
        + (f"left by {summary.ended}" if summary.ended else "not left"),
        f"  folder {one_line(summary.workspace)}, model {one_line(summary.model)}",
        f"  {_tokens(summary.usage)}, cost {_cost(summary.cost_usd)}",
    )
    return "\n".join(lines)


def _turn_lines(turn: "TurnRecord") -> Iterator[str]:
    from agent_chat.ui.sanitize import one_line, visible

    yield f"── turn {turn.number}, {_time(turn.started)}{', taken back' if turn.taken_back else ''}"
    for text in turn.said:
        yield _indented(f"> {visible(text)}")
    for tool in turn.tools:
        yield f"* {one_line(tool.name)} {one_line(tool.arguments)}: {_became(tool)}"
    if turn.answer:
        yield visible(turn.answer)
    outcome = f"{turn.kind}: {turn.reason}" if turn.kind else "no end in the log"
    if turn.kind not in ("completed", None) and turn.evidence:
        outcome += f" ({one_line(turn.evidence)})"
    seconds = f", {turn.duration_s:.1f} s" if turn.duration_s is not None else ""
    iterations = f"{turn.iterations} iteration{'' if turn.iterations == 1 else 's'}"
    yield f"[{outcome} · {iterations} · {_tokens(turn.usage)} · {_cost(turn.cost_usd)}{seconds}]"


def _became(tool: "ToolUse") -> str:
    from agent_chat.ui.sanitize import one_line

    if tool.ok is None:
        return "no result in the log"
    seconds = f" in {tool.duration_s:.1f} s" if tool.duration_s is not None else ""
    content = one_line(tool.content)
    short = content if len(content) <= 120 else content[:119] + "…"
    return f"{'ok' if tool.ok else tool.error_type or 'failed'}{seconds}" + (f": {short}" if short else "")


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def _time(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def _tokens(usage: "Usage") -> str:
    return f"{usage.prompt:,} + {usage.completion:,} tokens"


def _cost(cost: float | None) -> str:
    return "unknown" if cost is None else f"${cost:.4f}"


def _summary_json(summary: "SessionSummary") -> dict[str, Any]:
    """As `sessions list` prints it; times are ISO 8601 in UTC."""
    return asdict(summary) | {"started": _iso(summary.started), "last": _iso(summary.last)}


def _iso(at: float) -> str:
    from datetime import UTC

    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def _session_json(loaded: "LoadedSession", turns: "list[TurnRecord]") -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "session": _summary_json(loaded.summary),
        "damaged": loaded.damaged,
        "turns": [asdict(turn) | {"started": _iso(turn.started)} for turn in turns],
        "events": [json.loads(entry.to_json()) for entry in loaded.entries],
    }
