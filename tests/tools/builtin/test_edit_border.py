"""Files that are not changed: what is no text file, and what is outside the workspace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.hands import Hands, files

from agent_chat.core.events import FileChanged
from agent_chat.tools.errors import ToolError
from agent_chat.tools.seen import MAX_SIZE


@pytest.fixture
def hands(workspace: Path) -> Hands:
    return Hands(workspace)


@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("folder", "folder is a folder"),
        ("folder/", "names a folder"),
        ("new/", "names a folder"),
        (".", "names a folder"),
        ("image.png", "is a binary file"),
        ("pipe", "is not a regular file"),
        ("locked.txt", "is read-only"),
        ("a.txt/b", "a.txt is a file"),
        ("large", "only files of up to 10 MB"),
        ("bad\nname", "control characters"),
        ("nul\0", "NUL"),
        ("mixed", "neither UTF-8 nor Windows-1252"),
    ],
)
async def test_what_cannot_be_changed(hands: Hands, tool: str, path: str, told: str) -> None:
    (hands.root / "folder").mkdir()
    (hands.root / "a.txt").write_text("one")
    (hands.root / "image.png").write_bytes(b"\x89PNG\0\0one")
    os.mkfifo(hands.root / "pipe")
    (hands.root / "locked.txt").write_text("one")
    (hands.root / "locked.txt").chmod(0o444)
    (hands.root / "large").write_bytes(b"one" + b"x" * MAX_SIZE)
    (hands.root / "mixed").write_bytes(b"one \x81\x8d\xe9 two three four five six" * 9)
    before = files(hands.root)
    given = {"content": "new"} if tool == "write_file" else {"old": "one", "new": "1"}
    result = await hands.call(tool, path=path, **given)
    assert not result.ok
    assert told in result.content
    assert (files(hands.root), hands.changes) == (before, [])


async def test_a_content_that_is_no_text(hands: Hands) -> None:
    assert "NUL" in (await hands.write("a", "x\0y")).content
    assert "at most 10 MB" in (await hands.write("a", "x" * (MAX_SIZE + 1))).content
    assert files(hands.root) == {}


@pytest.fixture(params=["as it is", "through a link"])
def bordered(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A workspace `w` with a neighbor `w-evil`, opened by its own path or by a link to it."""
    inside, evil = tmp_path / "t/w", tmp_path / "t/w-evil"
    (inside / "a").mkdir(parents=True)
    evil.mkdir()
    (evil / "s").write_text("secret")
    (inside / "way-out").symlink_to(evil)
    (inside / "file-out").symlink_to(evil / "s")
    (inside / "dangling-out").symlink_to(evil / "new")
    (inside / "way-in").symlink_to(inside / "a")
    if request.param == "as it is":
        return inside
    (tmp_path / "link").symlink_to(inside)
    return tmp_path / "link"


def parent_of(root: Path) -> Path:
    return root.resolve().parent


@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
@pytest.mark.parametrize(
    "path",
    [
        "../w-evil/s",
        "../w-evil/new",
        "{t}/w-evil/s",
        "a/../../w-evil/s",
        "./a/./../../w-evil/s",
        "~/x",
        "/proc/self/environ",
        "/proc/self/fd/1",
        "/dev/null",
        "way-out/s",
        "way-out/new",
        "file-out",
        "dangling-out",
        "way-in/../../w-evil/s",
    ],
)
async def test_r45_nothing_is_written_outside_the_workspace(bordered: Path, tool: str, path: str) -> None:
    top = parent_of(bordered)
    before = files(top)
    given = {"content": "new"} if tool == "write_file" else {"old": "secret", "new": "new"}
    hands = Hands(bordered)
    result = await hands.call(tool, path=path.format(t=top), **given)
    assert not result.ok
    assert "outside the workspace" in result.content
    with pytest.raises(ToolError, match="outside the workspace"):
        await hands.preview(tool, path=path.format(t=top), **given)
    assert (files(top), hands.changes) == (before, [])


async def test_r45_links_inside_are_followed_and_stay(bordered: Path) -> None:
    hands = Hands(bordered)
    assert (await hands.write("way-in/new.txt", "one")).ok
    (bordered / "to-it").symlink_to("a/new.txt")
    assert (await hands.edit("to-it", "one", "two")).content == "edited a/new.txt (line 1)"
    assert (bordered / "to-it").is_symlink()
    assert (bordered / "a/new.txt").read_text() == "two"


async def test_r45_a_folder_that_becomes_a_link_meanwhile_leads_nowhere(bordered: Path) -> None:
    hands = Hands(bordered)

    def swap(event: FileChanged) -> None:
        (bordered / "b").symlink_to(parent_of(bordered) / "w-evil")

    hands.before_writing = swap
    result = await hands.write("b/new", "x")
    assert not result.ok
    assert sorted(files(parent_of(bordered) / "w-evil")) == ["s"]
