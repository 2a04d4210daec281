"""`read_file` and `list_files`: what is in the workspace."""

from __future__ import annotations

import difflib
import io
import os
import threading
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from agent_chat.tools.builtin.described import described
from agent_chat.tools.seen import MAX_SIZE, SeenFiles
from agent_chat.tools.text_file import BinaryContent, Window, read_window
from agent_chat.tools.threads import in_thread
from agent_chat.tools.tool import FunctionTool, ToolError, tool
from agent_chat.tools.walk import Entry, matcher, walk
from agent_chat.tools.workspace import Workspace, reason

MAX_CHARACTERS = 14_000
"""Of a file at once; with its closing line still below what a tool may say to the model."""
DEFAULT_LINES = 400
MAX_LINES = 2_000
DEFAULT_ENTRIES = 200
MAX_ENTRIES = 500
MAX_COUNTED = 20_000
"""Entries beyond those shown that are counted, and that are looked through for a similar name."""


def file_tools(workspace: Workspace, seen: SeenFiles | None = None) -> tuple[FunctionTool, ...]:
    """`read_file` and `list_files`, inside a workspace. `seen` is told of every file that is read."""
    known = seen or SeenFiles()

    @tool(effect="read")
    async def read_file(path: str, offset: int = 1, limit: int = DEFAULT_LINES) -> str:
        return await _stoppable(
            _read_file, workspace, known, path, max(1, offset), min(max(1, limit), MAX_LINES)
        )

    @tool(effect="read")
    async def list_files(path: str = ".", pattern: str | None = None, limit: int = DEFAULT_ENTRIES) -> str:
        wanted = min(max(1, limit), MAX_ENTRIES)
        return await _stoppable(_list_files, workspace, path, pattern or None, wanted)

    return described(read_file), described(list_files)


async def _stoppable(function: Callable[..., str], *arguments: object) -> str:
    """Runs a function in a thread; its last argument tells it when nobody waits for it any more."""
    stop = threading.Event()
    try:
        return await in_thread(function, *arguments, stop.is_set)
    finally:
        stop.set()


def _read_file(
    workspace: Workspace, seen: SeenFiles, path: str, offset: int, limit: int, stopped: Callable[[], bool]
) -> str:
    resolved = workspace.resolve(path)
    shown = workspace.show(resolved)
    try:
        if resolved.is_dir():
            raise ToolError(f"{shown} is a folder; list_files shows what is in it")
        with workspace.open(resolved) as file:
            content = _small(file)
            window = read_window(
                file if content is None else io.BytesIO(content),
                offset=offset,
                limit=limit,
                characters=MAX_CHARACTERS,
                stopped=stopped,
            )
        if content is not None:
            seen.remember(resolved, content)
    except BinaryContent as content:
        raise ToolError(
            f"{shown} is a binary file ({_kind(resolved)}{content.size:,} bytes), not text"
        ) from None
    except FileNotFoundError:
        raise ToolError(_missing(workspace, resolved)) from None
    except OSError as error:
        raise ToolError(f"{shown} cannot be read: {reason(error)}") from error
    if not window.lines and offset > 1:
        raise ToolError(f"{shown} ends with line {window.total:,}")
    if not window.lines:
        return f"({shown} is empty)"
    return "\n".join([*window.lines, *_notes(window)])


def _small(file: BinaryIO) -> bytes | None:
    """All of a file that tools may change: what is remembered of it must be what is shown of it."""
    if os.fstat(file.fileno()).st_size > MAX_SIZE:
        return None
    content = file.read(MAX_SIZE + 1)
    file.seek(0)
    return content if len(content) <= MAX_SIZE else None


def _notes(window: Window) -> list[str]:
    notes: list[str] = []
    if window.encoding.name == "cp1252":
        notes.append("not UTF-8: read as Windows-1252")
    whole = f"{window.total:,}" if window.total is not None else f"a file of {window.size:,} bytes"
    if window.cut:
        notes.append(
            f"line {window.first} is longer than {MAX_CHARACTERS:,} characters and cut here; "
            f"offset={window.next} reads on after it"
        )
    elif window.more:
        last = window.next - 1
        notes.append(f"lines {window.first}-{last} of {whole}; offset={window.next} reads on")
    elif window.first > 1:
        notes.append(f"lines {window.first}-{window.next - 1} of {whole}; this is the end")
    return [f"[{note}]" for note in notes]


def _kind(path: Path) -> str:
    import mimetypes

    kind = mimetypes.guess_type(path.name)[0]
    return f"{kind}, " if kind else ""


def _missing(workspace: Workspace, path: Path) -> str:
    """That there is no such file, and where one of that name is, or what is named like it."""
    wanted = workspace.show(path)
    entries = [entry.shown for entry in islice(walk(workspace.root, workspace.root), MAX_COUNTED)]
    same_name = [entry for entry in entries if entry.rstrip("/").rpartition("/")[2] == path.name]
    near = same_name[:3] or difflib.get_close_matches(wanted, entries[:2_000], n=3, cutoff=0.7)
    hint = f"did you mean {' or '.join(near)}?" if near else "list_files shows what is there"
    return f"{wanted} does not exist; {hint}"


def _list_files(
    workspace: Workspace, path: str, pattern: str | None, limit: int, stopped: Callable[[], bool]
) -> str:
    folder = workspace.resolve(path)
    shown = workspace.show(folder)
    if not folder.exists():
        raise ToolError(_missing(workspace, folder))
    if not folder.is_dir():
        raise ToolError(f"{shown} is a file, not a folder; read_file reads it")
    matches = _everything if pattern is None else _below(folder, workspace, pattern)
    found = (
        entry
        for entry in walk(workspace.root, folder, deep=pattern is not None)
        if not stopped() and matches(entry)
    )
    listed = [entry.shown for entry in islice(found, limit)]
    if not listed:
        return f"(nothing in {shown} matches {pattern!r})" if pattern else f"({shown} is empty)"
    rest = sum(1 for _ in islice(found, MAX_COUNTED))
    if rest:
        many = f"more than {rest:,}" if rest == MAX_COUNTED else f"{rest:,}"
        listed.append(f"[{many} more; a pattern or a subfolder shows fewer]")
    return "\n".join(listed)


def _everything(entry: Entry) -> bool:
    return True


def _below(folder: Path, workspace: Workspace, pattern: str) -> Callable[[Entry], bool]:
    """Files whose path from the folder on matches; folders instead, where the pattern ends with a slash."""
    matches = matcher(pattern)
    folders = pattern.endswith("/")
    prefix = "" if folder == workspace.root else f"{workspace.show(folder)}/"

    def fits(entry: Entry) -> bool:
        return entry.folder == folders and matches(entry.shown.removeprefix(prefix))

    return fits
