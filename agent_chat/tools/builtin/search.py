"""`search_text`: lines in the workspace's files, found by ripgrep where there is one."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import agent_chat
from agent_chat.tools.builtin.described import described
from agent_chat.tools.output_lines import OutputLines, output_lines
from agent_chat.tools.threads import in_thread
from agent_chat.tools.tool import FunctionTool, ToolError, tool
from agent_chat.tools.walk import NEVER_ENTERED
from agent_chat.tools.workspace import Workspace

MAX_MATCHES = 100
MAX_CHARACTERS = 14_000
MAX_SHOWN = 400
"""Bytes of a line that are shown."""

_PASSED_ON = ("PATH", "SYSTEMROOT", "TMPDIR", "TEMP")
"""All that a search needs to know of the environment; keys are not part of it."""


def ripgrep() -> str | None:
    return shutil.which("rg")


def search_tools(
    workspace: Workspace, find_ripgrep: Callable[[], str | None] = ripgrep
) -> tuple[FunctionTool, ...]:
    """`search_text`, inside a workspace. `find_ripgrep` gives the program, None for our own search."""

    @tool(effect="read")
    async def search_text(query: str, path: str = ".", glob: str | None = None, regex: bool = False) -> str:
        if not query or "\n" in query or "\0" in query:
            raise ToolError("the query must be one line of text that is not empty")
        start = await in_thread(_existing, workspace, path)
        program = find_ripgrep()
        command = _ripgrep(program, start, query, glob, regex) if program else None
        found = await output_lines(
            command or _own(workspace, start, query, glob, regex),
            folder=workspace.root,
            environment=_environment(),
            limit=MAX_MATCHES,
        )
        if not found.lines and found.code not in (0, 1, None):
            raise ToolError(f"the search failed: {found.errors.strip()[:500] or f'exit code {found.code}'}")
        return _shown(found) or _nothing(query, start, glob)

    return (described(search_text),)


def _existing(workspace: Workspace, path: str) -> str:
    resolved = workspace.resolve(path)
    if not resolved.exists():
        raise ToolError(f"{workspace.show(resolved)} does not exist; list_files shows what is there")
    if not resolved.is_dir() and not resolved.is_file():
        raise ToolError(f"{workspace.show(resolved)} is not a regular file")
    return workspace.show(resolved)


def _ripgrep(program: str, start: str, query: str, glob: str | None, regex: bool) -> Sequence[str]:
    """Rules as our own search has them: only `.gitignore` files, hidden files too, and a fixed order."""
    return [
        program,
        "--no-config",
        "--hidden",
        *([f"--glob={glob}"] if glob else []),
        *(f"--glob=!{folder}/" for folder in sorted(NEVER_ENTERED)),
        "--no-require-git",
        "--no-ignore-dot",
        "--no-ignore-exclude",
        "--no-ignore-global",
        "--smart-case",
        "--sort=path",
        "--color=never",
        "--no-heading",
        "--with-filename",
        "--line-number",
        "--null",
        "--no-messages",
        f"--max-columns={MAX_SHOWN}",
        "--max-columns-preview",
        *([] if regex else ["--fixed-strings"]),
        f"--regexp={query}",
        "--",
        "./" if start == "." else f"./{start}",
    ]


def _own(workspace: Workspace, start: str, query: str, glob: str | None, regex: bool) -> Sequence[str]:
    asked = {"root": str(workspace.root), "start": start, "query": query, "regex": regex, "glob": glob}
    # -P: the workspace, where it runs, is no place to import from.
    return [sys.executable, "-P", "-X", "utf8", "-m", "agent_chat.tools.scan", json.dumps(asked)]


def _environment() -> Mapping[str, str]:
    home = str(Path(agent_chat.__file__).parent.parent)
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {**kept, "PYTHONPATH": home, "LC_ALL": "C.UTF-8"}


def _shown(found: OutputLines) -> str:
    lines: list[str] = []
    used = 0
    more = found.more
    for line in found.lines:
        path, mark, rest = line.decode("utf-8", "replace").partition("\0")
        if not mark:
            continue  # A remark of ripgrep's, such as that a file is binary.
        number, _, text = rest.partition(":")
        shown = f"{path.removeprefix('./')}:{number}: {text.rstrip()}"
        used += len(shown) + 1
        if used > MAX_CHARACTERS:
            more = True
            break
        lines.append(shown)
    if more and lines:
        lines.append(f"[the first {len(lines)} matches; a longer query, a path or a glob finds fewer]")
    return "\n".join(lines)


def _nothing(query: str, start: str, glob: str | None) -> str:
    where = f"in {start}" if start != "." else "in the workspace"
    return f"(no line {where}{f' in files like {glob}' if glob else ''} contains {query!r})"
