"""Changes of text files: checked against what the model has seen, shown, journaled, made in one step."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from agent_chat.core.events import FileChanged
from agent_chat.core.ports import ContentStore, ToolContext
from agent_chat.tools.diff import Diff, unified_diff
from agent_chat.tools.errors import ToolError
from agent_chat.tools.file_state import FileState, missing_folders, read_state, write_file_at
from agent_chat.tools.seen import SeenFiles, digest
from agent_chat.tools.text_content import TextContent, read_text
from agent_chat.tools.text_file import BinaryContent, Stopped
from agent_chat.tools.threads import in_thread
from agent_chat.tools.workspace import Workspace

WRITE_BITS = 0o222
CHANGED = "{} was changed by something else since it was read; read it again"


@dataclass(frozen=True, slots=True)
class Target:
    """A file that is to be changed, as it is now."""

    path: Path
    shown: str
    state: FileState | None
    """None where there is no file."""
    text: TextContent | None
    """None where there is no file."""


# Without slots: the diff is made once.
@dataclass(frozen=True)
class Change:
    target: Target
    text: TextContent
    content: bytes
    """`text`, encoded."""
    note: str
    """For the model: what was done."""

    @cached_property
    def diff(self) -> Diff:
        before = self.target.text
        return unified_diff(None if before is None else before.unix, self.text.unix, self.target.shown)


Plan = Callable[[Target], Change]
"""What a call makes of a file. Raises `ToolError` where it cannot be done."""


class Editor:
    """Makes changes in a workspace. `contents` keeps what was there before."""

    def __init__(self, workspace: Workspace, seen: SeenFiles, contents: ContentStore) -> None:
        self._workspace = workspace
        self._seen = seen
        self._contents = contents

    async def preview(self, path: str, plan: Plan) -> Change:
        """What a call would do. From now on its file must not change until it is done: what is approved is
        what was shown. Raises `ToolError`."""

        def prepare() -> Change:
            target = self._target(path)
            change = plan(target)
            if target.state is not None:
                self._seen.remember(target.path, target.state.content)
            return change

        return await in_thread(prepare)

    async def apply(self, path: str, plan: Plan, context: ToolContext) -> str:
        """Does it. The note of the change. Raises `ToolError`."""
        change, event = await in_thread(self._prepare, path, plan, context.call_id)
        if event is None:
            return f"{change.target.shown} is like this already; nothing was changed"
        await context.record(event)
        stop = threading.Event()
        try:
            await in_thread(self._write, change, stop.is_set)
        finally:
            stop.set()
        return change.note

    def require_seen(self, target: Target) -> None:
        """Raises `ToolError` where the model would overwrite what it does not know."""
        if target.state is not None and self._seen.get(target.path) is None:
            raise ToolError(f"{target.shown} exists; read it first, so that nothing in it is lost unknown")

    def _target(self, path: str) -> Target:
        resolved = self._workspace.resolve(path)
        shown = self._workspace.show(resolved)
        if path.rstrip().endswith(("/", "\\")) or resolved == self._workspace.root:
            raise ToolError(f"{path!r} names a folder, not a file")
        if any(ord(character) < 32 or ord(character) == 127 for character in shown):
            raise ToolError(f"{path!r} holds control characters; choose another name")
        state = read_state(self._workspace, resolved)
        if state is None:
            return Target(resolved, shown, None, None)
        seen = self._seen.get(resolved)
        if seen is not None and seen != state.digest:
            raise ToolError(CHANGED.format(shown))
        if not state.status.st_mode & WRITE_BITS:
            raise ToolError(f"{shown} is read-only")
        try:
            return Target(resolved, shown, state, read_text(state.content, shown))
        except BinaryContent as content:
            raise ToolError(f"{shown} is a binary file ({content.size:,} bytes), not text") from None

    def _prepare(self, path: str, plan: Plan, call_id: str) -> tuple[Change, FileChanged | None]:
        """The change, and the event that announces it, whose previous content is kept by now."""
        target = self._target(path)
        change = plan(target)
        if target.state is not None and target.state.content == change.content:
            return change, None
        diff = change.diff
        return change, FileChanged(
            call_id=call_id,
            workspace=str(self._workspace.root),
            path=target.shown,
            before=None if target.state is None else self._contents.put(target.state.content),
            after=digest(change.content),
            folders=missing_folders(self._workspace, target.path),
            added=diff.added,
            removed=diff.removed,
        )

    def _write(self, change: Change, stopped: Callable[[], bool]) -> None:
        target = change.target

        def check() -> None:
            now = read_state(self._workspace, target.path)
            if (now and now.content) != (target.state and target.state.content):
                raise ToolError(CHANGED.format(target.shown))
            if stopped():
                raise Stopped

        before = None if target.state is None else target.state.status
        write_file_at(self._workspace, target.path, change.content, before, check)
        self._seen.remember(target.path, change.content)
