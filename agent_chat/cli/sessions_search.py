"""`agent-chat sessions search`: finds what was said and done before."""

# Typer evaluates the annotations of a command: they stay real types here.
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_chat.cli.session_output import (
    SCHEMA_VERSION,
    ListFormat,
    Output,
    amount,
    iso,
    moment,
    past_sessions,
    print_json,
    say,
    summary_json,
)

if TYPE_CHECKING:
    from agent_chat.sessions.search import Found, Hit

WHO = {"user": "you", "answer": "answer", "call": "call", "result": "result"}


def search(
    query: Annotated[
        list[str],
        typer.Argument(metavar="QUERY", help='Words that all have to be there; "in quotes" as one.'),
    ],
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="At most so many sessions.")] = 20,
    all_: Annotated[bool, typer.Option("--all", help="Of all folders, not only of this one.")] = False,
    output: Output = ListFormat.TEXT,
) -> None:
    """Search past sessions: messages, answers, tool calls and their results."""
    from agent_chat.core.errors import UserError
    from agent_chat.sessions.search import search_sessions

    text, here = " ".join(query), str(Path.cwd())
    if not text.strip(' "'):
        raise UserError("There is nothing to search for.", hint="Give one word or more.")
    with past_sessions() as store:
        found = search_sessions(store, text, limit, None if all_ else here, _on_backlog)
    if output is ListFormat.JSON:
        print_json({"schema_version": SCHEMA_VERSION, "query": text, "sessions": [*map(_found_json, found)]})
        return
    for one in found:
        for line in _lines(one):
            typer.echo(line)
    if not found:
        say("Nothing was found." if all_ else f"Nothing was found in the sessions of {here}; try --all.")


def _on_backlog(events: int) -> None:
    say(f"Preparing {events:,} events to be searched; this happens once.")


def _lines(found: "Found") -> Iterator[str]:
    from agent_chat.ui.sanitize import one_line

    summary = found.session
    yield f"{summary.id}  {moment(summary.last)}  {one_line(summary.title) or '(nothing said)'}"
    if found.count > len(found.hits):
        yield f"  {amount(found.count, 'passage')}, the last of them:"
    for hit in found.hits:
        yield f"  turn {hit.turn}, {who(hit)}: {one_line(hit.snippet)}"


def who(hit: "Hit") -> str:
    """Whose words were found."""
    from agent_chat.ui.sanitize import one_line

    return f"{WHO[hit.source]} of {one_line(hit.tool)}" if hit.tool else WHO[hit.source]


def _found_json(found: "Found") -> dict[str, Any]:
    from dataclasses import asdict

    hits = [asdict(hit) | {"at": iso(hit.at)} for hit in found.hits]
    return {"session": summary_json(found.session), "count": found.count, "hits": hits}
