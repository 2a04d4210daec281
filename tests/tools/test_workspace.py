"""The border of the workspace."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tools import call, named

from agent_chat.tools.builtin.files import file_tools
from agent_chat.tools.builtin.search import search_tools
from agent_chat.tools.errors import ToolError
from agent_chat.tools.workspace import OutsideWorkspace, Workspace

SECRET = "the secret of the neighbor"


@pytest.fixture(params=["as it is", "through a link"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A workspace `w` with a neighbor `w-evil`, opened by its own path or by a link to it."""
    inside, evil = tmp_path / "t/w", tmp_path / "t/w-evil"
    (inside / "a").mkdir(parents=True)
    evil.mkdir()
    (inside / "a/file.txt").write_text("inside")
    (evil / "s").write_text(SECRET)
    (inside / "way-out").symlink_to(evil)
    (inside / "file-out").symlink_to(evil / "s")
    (inside / "way-in").symlink_to(inside / "a")
    if request.param == "as it is":
        return inside
    link = tmp_path / "link"
    link.symlink_to(inside)
    return link


OUTSIDE = (
    "../w-evil/s",
    "{t}/w-evil/s",
    "a/../../w-evil/s",
    "./a/./../../w-evil/s",
    "~/x",
    "/proc/self/environ",
    "/etc/passwd",
    "..",
    "way-out/s",
    "file-out",
    "way-in/../../w-evil/s",
    "nothing/../../w-evil/s",
)


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("name", ["read_file", "list_files", "search_text"])
async def test_r45_no_path_leads_out_of_the_workspace(root: Path, name: str, path: str) -> None:
    workspace = Workspace(root)
    tools = [*file_tools(workspace), *search_tools(workspace)]
    arguments = {"path": path.format(t=workspace.root.parent)}
    if name == "search_text":
        arguments["query"] = "secret"
    result = await call(named(tools, name), **arguments)
    assert not result.ok
    assert f"is outside the workspace; file tools stay inside {workspace.root}" in result.content
    assert SECRET not in result.content


async def test_r45_nothing_outside_is_found_from_inside(root: Path) -> None:
    workspace = Workspace(root)
    found = await call(search_tools(workspace)[0], query="secret")
    assert SECRET not in found.content
    listed = await call(named(file_tools(workspace), "list_files"), pattern="*")
    assert listed.content.splitlines() == ["a/file.txt", "file-out"]


@pytest.mark.parametrize(
    "path", ["a/file.txt", "./a/../a/file.txt", "{root}/a/file.txt", "way-in/file.txt", " a/file.txt "]
)
async def test_r45_paths_inside_work_whichever_way_the_workspace_was_opened(root: Path, path: str) -> None:
    read_file = named(file_tools(Workspace(root)), "read_file")
    result = await call(read_file, path=path.format(root=root))
    assert (result.ok, result.content) == (True, "inside")


def test_a_folder_swapped_for_a_link_after_the_check_is_not_followed(root: Path) -> None:
    workspace = Workspace(root)
    checked = workspace.resolve("a/s")
    (workspace.root / "a/file.txt").unlink()
    (workspace.root / "way-in").unlink()
    (workspace.root / "a").rmdir()
    (workspace.root / "a").symlink_to(workspace.root.parent / "w-evil")
    with pytest.raises((OutsideWorkspace, NotADirectoryError)):
        workspace.open(checked)


def test_a_file_swapped_for_a_link_after_the_check_is_not_followed(root: Path) -> None:
    workspace = Workspace(root)
    checked = workspace.resolve("a/file.txt")
    checked.unlink()
    checked.symlink_to(workspace.root.parent / "w-evil/s")
    with pytest.raises(OutsideWorkspace):
        workspace.open(checked)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_a_fifo_is_refused_and_never_waited_for(root: Path) -> None:
    workspace = Workspace(root)
    os.mkfifo(workspace.root / "pipe")
    with pytest.raises(ToolError, match="pipe is not a regular file"):
        workspace.open(workspace.resolve("pipe"))


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc here")
def test_the_kernels_files_are_outside_even_of_the_whole_machine() -> None:
    with pytest.raises(OutsideWorkspace):
        Workspace(Path("/")).resolve("/proc/self/environ")


def test_loops_of_links_are_errors(root: Path) -> None:
    (root / "loop").symlink_to("loop")
    workspace = Workspace(root)
    with pytest.raises((ToolError, OSError)):
        workspace.open(workspace.resolve("loop"))


def test_a_workspace_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot be used"):
        Workspace(tmp_path / "nowhere")


def test_nul_is_no_part_of_a_path(root: Path) -> None:
    with pytest.raises(ToolError, match="NUL"):
        Workspace(root).resolve("a\0b")


PARTS = st.sampled_from(
    [
        "..",
        ".",
        "",
        "a",
        "w",
        "w-evil",
        "s",
        "t",
        "way-out",
        "way-in",
        "file-out",
        "~",
        "/",
        "//",
        "a ",
        "\\",
    ]
) | st.text(max_size=5)


@settings(deadline=None, max_examples=100)
@given(parts=st.lists(PARTS, max_size=8), absolute=st.booleans())
def test_whatever_the_path_what_is_opened_is_inside(parts: list[str], absolute: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "t/w"
        (root / "a").mkdir(parents=True)
        evil = root.parent / "w-evil"
        evil.mkdir()
        (evil / "s").write_text(SECRET)
        (root / "s").write_text("inside")
        (root / "way-out").symlink_to("../w-evil")
        (root / "file-out").symlink_to(evil / "s")
        (root / "way-in").symlink_to("a")
        workspace = Workspace(root)
        path = "/".join([str(root), *parts] if absolute else parts)
        try:
            resolved = workspace.resolve(path)
            with workspace.open(resolved) as file:
                content = file.read()
        except (ToolError, OSError):
            return
        assert content == b"inside"
        assert resolved.resolve().is_relative_to(root)
