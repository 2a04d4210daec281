"""The file tools of one session, and what they record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent_chat.core.approval import Preview
from agent_chat.core.events import FileChanged
from agent_chat.core.observation import ToolResult
from agent_chat.core.ports import ToolContext
from agent_chat.sessions.contents import MemoryContents
from agent_chat.tools.builtin.edit import edit_tools
from agent_chat.tools.builtin.files import file_tools
from agent_chat.tools.seen import SeenFiles
from agent_chat.tools.workspace import Workspace
from support.tools import named


class Hands:
    """The file tools of one session, and what they record."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.contents = MemoryContents()
        self.changes: list[FileChanged] = []
        self.before_writing: Callable[[FileChanged], object] = self.changes.append
        workspace, seen = Workspace(root), SeenFiles()
        self._tools = (*file_tools(workspace, seen), *edit_tools(workspace, self.contents, seen))

    async def call(self, name: str, **arguments: Any) -> ToolResult:
        tool = named(self._tools, name)
        context = ToolContext("c1", "s1", "k1", lambda text: None, self._record)
        return await tool.run(tool.validate(arguments), context)

    async def preview(self, name: str, **arguments: Any) -> Preview:
        tool = named(self._tools, name)
        preview = await tool.preview(tool.validate(arguments))
        assert preview is not None
        return preview

    async def edit(self, path: str, old: str, new: str, **arguments: Any) -> ToolResult:
        return await self.call("edit_file", path=path, old=old, new=new, **arguments)

    async def write(self, path: str, content: str) -> ToolResult:
        return await self.call("write_file", path=path, content=content)

    async def read(self, path: str) -> ToolResult:
        return await self.call("read_file", path=path)

    async def _record(self, event: FileChanged) -> None:
        self.before_writing(event)


def files(root: Path) -> dict[str, bytes]:
    """Everything that is there: a temporary file that was left behind would be seen."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
