"""`write_file` and `edit_file`: change text files of the workspace."""

from __future__ import annotations

from agent_chat.core.approval import Preview
from agent_chat.core.ports import ContentStore
from agent_chat.tools.builtin.described import described
from agent_chat.tools.editor import Change, Editor, Plan, Target
from agent_chat.tools.replacing import replace_exactly
from agent_chat.tools.seen import MAX_SIZE, SeenFiles
from agent_chat.tools.text_content import TextContent
from agent_chat.tools.tool import FunctionTool, ToolContext, ToolError, tool
from agent_chat.tools.workspace import Workspace

NAMED = 10
"""Lines of replacements that are told."""


def edit_tools(workspace: Workspace, contents: ContentStore, seen: SeenFiles) -> tuple[FunctionTool, ...]:
    """`write_file` and `edit_file`, inside a workspace.

    `contents` keeps what a file held before each change; `seen` is shared with the tools that read.
    """
    editor = Editor(workspace, seen, contents)

    def writing(content: str) -> Plan:
        def plan(target: Target) -> Change:
            editor.require_seen(target)
            return _written(target, content)

        return plan

    async def preview_write(path: str, content: str) -> Preview:
        return _preview(await editor.preview(path, writing(content)))

    async def preview_edit(path: str, old: str, new: str, replace_all: bool = False) -> Preview:
        return _preview(await editor.preview(path, _editing(old, new, replace_all)))

    @tool(effect="write", preview=preview_write)
    async def write_file(path: str, content: str, context: ToolContext) -> str:
        return await editor.apply(path, writing(content), context)

    @tool(effect="write", preview=preview_edit)
    async def edit_file(
        path: str, old: str, new: str, context: ToolContext, replace_all: bool = False
    ) -> str:
        return await editor.apply(path, _editing(old, new, replace_all), context)

    return described(write_file), described(edit_file)


def _preview(change: Change) -> Preview:
    return Preview("diff", change.diff.text, _kept(change.target.text))


def _kept(text: TextContent | None) -> str:
    """What a diff does not show of the file: that it is neither UTF-8 nor has the usual line ends."""
    if text is None:
        return ""
    unusual = [] if text.encoding_name == "UTF-8" and not text.mark else [text.encoding_name]
    if text.line_end != "\n":
        unusual.append("CRLF line ends")
    return f"keeps {' and '.join(unusual)}" if unusual else ""


def _written(target: Target, content: str) -> Change:
    old = target.text or TextContent("")
    text = old.with_text(content if "\r\n" in content else content.replace("\n", old.line_end))
    note = _kept(target.text)
    if not _holds(text):
        note = f"now UTF-8: {text.encoding_name} cannot hold it"
        text = TextContent(text.text)
    count = content.count("\n") + (not content.endswith("\n") and bool(content))
    lines = "1 line" if count == 1 else f"{count:,} lines"
    verb = "wrote the new file" if target.state is None else "wrote"
    note = f"{verb} {target.shown} ({lines}{f'; {note}' if note else ''})"
    return Change(target, text, _encoded(text, target.shown), note)


def _holds(text: TextContent) -> bool:
    """Whether a whole new content can have the encoding of the old one."""
    try:
        text.encoded()
    except UnicodeEncodeError:
        return False
    return True


def _encoded(text: TextContent, shown: str) -> bytes:
    """Raises `ToolError` where that makes no text file."""
    if "\0" in text.text:
        raise ToolError("a text file cannot hold NUL characters")
    try:
        encoded = text.encoded()
    except UnicodeEncodeError as error:
        character = text.text[error.start]
        raise ToolError(
            f"{shown} is {text.encoding_name}, which cannot hold {character!r}; use another character"
        ) from error
    if len(encoded) > MAX_SIZE:
        raise ToolError(
            f"{shown} would have {len(encoded):,} bytes; at most {MAX_SIZE // 1024 // 1024} MB are written"
        )
    return encoded


def _editing(old: str, new: str, every: bool) -> Plan:
    def plan(target: Target) -> Change:
        if target.text is None:
            raise ToolError(f"{target.shown} does not exist; write_file makes a new file")
        replaced = replace_exactly(target.text, old, new, every=every, shown=target.shown)
        content = _encoded(replaced.content, target.shown)
        lines = ", ".join(map(str, replaced.lines[:NAMED])) + (", …" if len(replaced.lines) > NAMED else "")
        count = len(replaced.lines)
        what = f"line {lines}" if count == 1 else f"{count} places, lines {lines}"
        return Change(target, replaced.content, content, f"edited {target.shown} ({what})")

    return plan
