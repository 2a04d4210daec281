"""Taking changes of files back."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from support.tools import named

from agent_chat.core.events import FileChanged
from agent_chat.core.ports import ToolContext
from agent_chat.sessions.contents import MemoryContents
from agent_chat.tools.builtin.edit import edit_tools
from agent_chat.tools.errors import ToolError
from agent_chat.tools.seen import SeenFiles, digest
from agent_chat.tools.undo import ChangedSince, Undone, undo_change
from agent_chat.tools.workspace import OutsideWorkspace, Workspace


class Scene:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace = Workspace(root)
        self.contents = MemoryContents()
        self.changes: list[FileChanged] = []
        self.tools = edit_tools(self.workspace, self.contents, SeenFiles())

    async def write(self, path: str, content: str) -> FileChanged:
        return await self._call("write_file", path=path, content=content)

    async def edit(self, path: str, old: str, new: str) -> FileChanged:
        return await self._call("edit_file", path=path, old=old, new=new)

    def undo(self, change: FileChanged, *, force: bool = False) -> Undone:
        return undo_change(self.workspace, self.contents, change, force=force)

    async def _call(self, name: str, **arguments: object) -> FileChanged:
        result = await named(self.tools, name).run(
            arguments, ToolContext("c", "s", "k", lambda text: None, self._record)
        )
        assert result.ok, result.content
        return self.changes[-1]

    async def _record(self, event: FileChanged) -> None:
        self.changes.append(event)


@pytest.fixture
def scene(workspace: Path) -> Scene:
    return Scene(workspace)


async def test_an_edit_is_taken_back_byte_for_byte(scene: Scene) -> None:
    content = b"\xef\xbb\xbfone\r\ntwo\n"
    (scene.root / "a").write_bytes(content)
    (scene.root / "a").chmod(0o750)
    change = await scene.edit("a", "one", "1")
    undone = scene.undo(change)
    assert (scene.root / "a").read_bytes() == content
    assert stat.S_IMODE((scene.root / "a").stat().st_mode) == 0o750
    assert undone == Undone(change.after, digest(content))


async def test_a_new_file_goes_with_the_folders_that_were_made_for_it(scene: Scene) -> None:
    (scene.root / "kept").mkdir()
    change = await scene.write("kept/new/deep/a", "x")
    assert scene.undo(change) == Undone(change.after, None)
    assert [path.name for path in scene.root.rglob("*")] == ["kept"]


async def test_folders_that_hold_something_else_meanwhile_stay(scene: Scene) -> None:
    change = await scene.write("new/deep/a", "x")
    (scene.root / "new/other").write_text("mine")
    scene.undo(change)
    assert sorted(path.name for path in scene.root.rglob("*")) == ["new", "other"]


async def test_changes_are_taken_back_one_after_the_other(scene: Scene) -> None:
    first = await scene.write("a", "one")
    second = await scene.edit("a", "one", "two")
    scene.undo(second)
    assert (scene.root / "a").read_text() == "one"
    scene.undo(first)
    assert not (scene.root / "a").exists()


@pytest.mark.parametrize("later", ["changed by a person", None])
async def test_what_something_else_changed_since_is_left_alone_unless_forced(
    scene: Scene, later: str | None
) -> None:
    (scene.root / "a").write_text("one")
    change = await scene.edit("a", "one", "two")
    (scene.root / "a").unlink()
    if later is not None:
        (scene.root / "a").write_text(later)
    with pytest.raises(ChangedSince):
        scene.undo(change)
    assert later is None or (scene.root / "a").read_text() == later
    undone = scene.undo(change, force=True)
    assert (scene.root / "a").read_text() == "one"
    # Nothing is lost: what the person wrote is kept as well.
    kept = scene.contents.get(undone.before or "")
    assert kept == (None if later is None else later.encode())


async def test_what_is_so_already_needs_nothing(scene: Scene) -> None:
    (scene.root / "a").write_text("one")
    change = await scene.edit("a", "one", "two")
    (scene.root / "a").write_text("one")
    assert scene.undo(change).was_so


async def test_a_content_that_is_lost_is_said(scene: Scene) -> None:
    (scene.root / "a").write_text("one")
    change = await scene.edit("a", "one", "two")
    with pytest.raises(ToolError, match="not kept any more"):
        undo_change(scene.workspace, MemoryContents(), change)
    assert (scene.root / "a").read_text() == "two"


async def test_r45_nothing_outside_is_restored_through_a_link(scene: Scene, tmp_path: Path) -> None:
    change = await scene.write("new/a", "x")
    (scene.root / "new/a").unlink()
    (scene.root / "new").rmdir()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_text("x")
    (scene.root / "new").symlink_to(outside)
    with pytest.raises(OutsideWorkspace):
        scene.undo(change, force=True)
    assert (outside / "a").read_text() == "x"
