"""`agent-chat sessions`: what was said before."""

# Typer evaluates the annotations of a command: they stay real types here.
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_chat.cli import sessions_manage, sessions_search, sessions_transfer
from agent_chat.cli.session_output import (
    SCHEMA_VERSION,
    ListFormat,
    Output,
    SessionId,
    cost,
    iso,
    moment,
    past_sessions,
    print_json,
    say,
    summary_json,
    tokens,
)

if TYPE_CHECKING:
    from agent_chat.sessions.origins import Origin
    from agent_chat.sessions.reading import LoadedSession
    from agent_chat.sessions.summary import SessionSummary
    from agent_chat.sessions.transcript import ToolUse, TurnRecord

app = typer.Typer(help="List, search, show and keep house among past sessions.", no_args_is_help=True)


@app.command("list")
def list_(
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="At most so many.")] = 20,
    all_: Annotated[bool, typer.Option("--all", help="Of all folders, not only of this one.")] = False,
    output: Output = ListFormat.TEXT,
) -> None:
    """List past sessions, the last one used first."""
    with past_sessions() as store:
        here = str(Path.cwd())
        sessions = store.list(limit, None if all_ else here)
        if output is ListFormat.JSON:
            print_json({"schema_version": SCHEMA_VERSION, "sessions": [*map(summary_json, sessions)]})
            return
        for summary in sessions:
            typer.echo(_summary_line(summary, with_folder=all_))
        if not sessions:
            elsewhere = not all_ and bool(store.list(1))
            say(
                "There are no sessions yet."
                if not elsewhere
                else f"No sessions in {here}; --all shows others."
            )


@app.command()
def show(
    session: SessionId,
    output: Output = ListFormat.TEXT,
) -> None:
    """Show a session turn by turn."""
    from agent_chat.sessions.transcript import turns_of

    with past_sessions() as store:
        loaded = store.read(store.resolve(session))
        origin = store.origin(loaded.summary.id)
    turns = turns_of(loaded.entries)
    if output is ListFormat.JSON:
        print_json(_session_json(loaded, origin, turns))
        return
    typer.echo(_heading(loaded.summary, origin))
    for turn in turns:
        typer.echo("\n" + "\n".join(_turn_lines(turn)))


@app.command()
def undo(
    session: SessionId,
    last: Annotated[int, typer.Option("--last", min=1, metavar="N", help="The last so many changes.")] = 1,
    all_: Annotated[bool, typer.Option("--all", help="All changes of the session.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also where something else changed the file since.")
    ] = False,
) -> None:
    """Take back what tools changed in files, the last change first."""
    from agent_chat.cli.undo import take_back_past

    with past_sessions() as store:
        for told in take_back_past(store, store.resolve(session), None if all_ else last, force=force):
            typer.echo(told)


app.command()(sessions_search.search)
app.command()(sessions_transfer.export)
app.command("import")(sessions_transfer.import_)
app.command()(sessions_manage.fork)
app.command()(sessions_manage.delete)
app.command()(sessions_manage.prune)


def _summary_line(summary: "SessionSummary", *, with_folder: bool) -> str:
    from agent_chat.ui.sanitize import one_line

    turns = f"{summary.turns} turn{'' if summary.turns == 1 else 's'}"
    folder = f"  ({one_line(summary.workspace)})" if with_folder else ""
    title = one_line(summary.title) or "(nothing said)"
    return f"{summary.id}  {moment(summary.last)}  {turns:>9}  {cost(summary.cost_usd):>9}  {title}{folder}"


def _heading(summary: "SessionSummary", origin: "Origin | None") -> str:
    from agent_chat.ui.sanitize import one_line

    lines = [
        f"Session {summary.id}: {one_line(summary.title)}",
        f"  {moment(summary.started)} to {moment(summary.last)}, "
        + (f"left by {summary.ended}" if summary.ended else "not left"),
        f"  folder {one_line(summary.workspace)}, model {one_line(summary.model)}",
        f"  {tokens(summary.usage)}, cost {cost(summary.cost_usd)}",
    ]
    if origin is not None:
        told = "forked from session" if origin.kind == "fork" else "imported, as session"
        lines.append(f"  {told} {one_line(origin.session)}")
    return "\n".join(lines)


def _turn_lines(turn: "TurnRecord") -> Iterator[str]:
    from agent_chat.ui.sanitize import one_line, visible

    yield f"── turn {turn.number}, {moment(turn.started)}{', taken back' if turn.taken_back else ''}"
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
    yield f"[{outcome} · {iterations} · {tokens(turn.usage)} · {cost(turn.cost_usd)}{seconds}]"


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


def _session_json(
    loaded: "LoadedSession", origin: "Origin | None", turns: "list[TurnRecord]"
) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "session": summary_json(loaded.summary),
        "origin": asdict(origin) if origin else None,
        "damaged": loaded.damaged,
        "turns": [asdict(turn) | {"started": iso(turn.started)} for turn in turns],
        "events": [json.loads(entry.to_json()) for entry in loaded.entries],
    }
