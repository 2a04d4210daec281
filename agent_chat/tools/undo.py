"""Takes back the change of a file that a tool made."""

from __future__ import annotations

from dataclasses import dataclass

from agent_chat.core.events import FileChanged
from agent_chat.core.ports import ContentStore
from agent_chat.tools.errors import ToolError
from agent_chat.tools.file_state import FileState, read_state, remove_file_at, write_file_at
from agent_chat.tools.workspace import Workspace


class ChangedSince(ToolError):
    """The file is not as the tool left it: taking the change back would lose what came after."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} was changed by something else since")


@dataclass(frozen=True, slots=True)
class Undone:
    before: str | None
    """The content that was there until now, which is kept; None where there was no file."""
    after: str | None
    """What is there now; None where there is no file."""

    @property
    def was_so(self) -> bool:
        """Whether there was nothing to do."""
        return self.before == self.after


def undo_change(
    workspace: Workspace, contents: ContentStore, change: FileChanged, *, force: bool = False
) -> Undone:
    """Makes the file what it was before. `force` also where something else changed it since; what that wrote
    is kept all the same. Raises `ChangedSince`, or `ToolError` where it cannot be done."""
    path = workspace.resolve(change.path)
    if workspace.show(path) != change.path:
        raise ToolError(f"{change.path} is a link to {workspace.show(path)} now")
    state = read_state(workspace, path)
    now = None if state is None else state.digest
    if now == change.before:
        return Undone(now, now)
    if now != change.after and not force:
        raise ChangedSince(change.path)
    if state is not None:
        contents.put(state.content)
    if change.before is None:
        remove_file_at(workspace, path, change.folders)
        return Undone(now, None)
    content = contents.get(change.before)
    if content is None:
        raise ToolError(f"what {change.path} held before is not kept any more")

    def check() -> None:
        if _content(read_state(workspace, path)) != _content(state):
            raise ChangedSince(change.path)

    write_file_at(workspace, path, content, None if state is None else state.status, check)
    return Undone(now, change.before)


def _content(state: FileState | None) -> bytes | None:
    return None if state is None else state.content
