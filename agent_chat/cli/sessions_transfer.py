"""`agent-chat sessions export` and `import`."""

# Typer evaluates the annotations of a command: they stay real types here.
import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_chat.cli.session_output import SessionId, past_sessions, say

if TYPE_CHECKING:
    from agent_chat.core.ports import ResultStore
    from agent_chat.sessions.reading import LoadedSession

_LARGEST_IMPORT = 1 << 30
"""Bytes; what is read has to fit into memory several times over."""


class ExportFormat(StrEnum):
    MARKDOWN = "md"
    HTML = "html"
    JSON = "json"


_ENDINGS = {
    ".md": ExportFormat.MARKDOWN,
    ".markdown": ExportFormat.MARKDOWN,
    ".html": ExportFormat.HTML,
    ".htm": ExportFormat.HTML,
    ".json": ExportFormat.JSON,
}


def export(
    session: SessionId,
    format_: Annotated[
        ExportFormat | None,
        typer.Option("--format", help="Default: as the file's name ends, else md; json can be imported."),
    ] = None,
    output_file: Annotated[
        str | None, typer.Option("-o", "--output-file", metavar="FILE", help="Default: standard output.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Also over a file that is there.")] = False,
) -> None:
    """Write a session down: for people as markdown or HTML, for programs as JSON."""
    target = None if output_file in (None, "-") else Path(str(output_file))
    with past_sessions() as store:
        loaded = store.read(store.resolve(session))
        text = exported(loaded, store.results, format_ or format_of(target))
    if target is None:
        typer.echo(text, nl=False)
        return
    write_new(target, text, force=force, how=", or overwrite it with --force")
    say(f"Session {loaded.summary.id} is written to {target}.")


def import_(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="What `export --format json` wrote; - reads it.")
    ],
) -> None:
    """Take in a session that was exported as JSON; one that is there is never overwritten."""
    from agent_chat.sessions.transfer import import_session, read_exported

    session = read_exported(_read(file))
    with past_sessions() as store:
        session_id = import_session(store, session, time.time())
    if session_id != session.session_id:
        say(f"There already is a session {session.session_id}: this one has a new id.")
    typer.echo(session_id)


def format_of(target: Path | None) -> ExportFormat:
    """What a file's name asks for."""
    return _ENDINGS.get(target.suffix.lower() if target else "", ExportFormat.MARKDOWN)


def exported(loaded: "LoadedSession", results: "ResultStore", format_: ExportFormat) -> str:
    """A session in a format, harmless to show, with a newline at its end."""
    from agent_chat.ui.sanitize import json_safe, visible

    match format_:
        case ExportFormat.MARKDOWN:
            from agent_chat.sessions.export_markdown import to_markdown

            return to_markdown(loaded, visible)
        case ExportFormat.HTML:
            from agent_chat.sessions.export_html import to_html

            return to_html(loaded, visible)
        case ExportFormat.JSON:
            from agent_chat.sessions.transfer import to_json

            return f"{json_safe(to_json(loaded, results))}\n"


def write_new(path: Path, text: str, *, force: bool, how: str) -> None:
    """Writes a file, whole or not at all, that only its owner can read. `how`: how else to go on where it
    is there, behind "Name another file". Raises UserError."""
    import os
    import tempfile

    from agent_chat.core.errors import UserError

    if not force and os.path.lexists(path):
        raise UserError(f"{path} already exists.", hint=f"Name another file{how}.")
    made = ""
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="\n", dir=path.parent, prefix=".export.", delete=False
        ) as file:
            made = file.name
            file.write(text)
        os.replace(made, path)
    except OSError as error:
        if made:
            Path(made).unlink(missing_ok=True)
        raise UserError(
            f"{path} cannot be written: {error.strerror or error}.", hint="Name a file elsewhere."
        ) from error


def _read(file: str) -> bytes:
    from agent_chat.core.errors import UserError

    try:
        if file == "-":
            data = sys.stdin.buffer.read(_LARGEST_IMPORT + 1)
        else:
            with open(file, "rb") as opened:
                data = opened.read(_LARGEST_IMPORT + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UserError(f"{file} cannot be read: {why}.", hint="Name a file that `export` wrote.") from error
    if len(data) > _LARGEST_IMPORT:
        raise UserError(f"{file} is larger than 1 GiB.", hint="That is no exported session.")
    return data
