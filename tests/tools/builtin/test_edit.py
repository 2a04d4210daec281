"""Writing and editing files: what is kept, what is refused, what a person is shown of it."""

from __future__ import annotations

import asyncio
import codecs
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tools import named

from agent_chat.core.approval import Preview
from agent_chat.core.events import FileChanged
from agent_chat.core.observation import ToolResult
from agent_chat.core.ports import ToolContext
from agent_chat.sessions.contents import MemoryContents
from agent_chat.tools.builtin.edit import edit_tools
from agent_chat.tools.builtin.files import file_tools
from agent_chat.tools.errors import ToolError
from agent_chat.tools.seen import MAX_SIZE, SeenFiles
from agent_chat.tools.workspace import Workspace


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


@pytest.fixture
def hands(workspace: Path) -> Hands:
    return Hands(workspace)


def files(root: Path) -> dict[str, bytes]:
    """Everything that is there: a temporary file that was left behind would be seen."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


# --- writing --------------------------------------------------------------------------------------------


async def test_a_new_file_with_its_folders(hands: Hands) -> None:
    result = await hands.write("src/deep/a.py", "one\ntwo\n")
    assert result == ToolResult("wrote the new file src/deep/a.py (2 lines)")
    assert files(hands.root) == {"src/deep/a.py": b"one\ntwo\n"}
    [change] = hands.changes
    assert (change.path, change.before, change.folders) == ("src/deep/a.py", None, ("src", "src/deep"))
    assert (change.added, change.removed) == (2, 0)


async def test_a_new_file_has_the_rights_that_new_files_have(hands: Hands) -> None:
    await hands.write("a", "x")
    (hands.root / "b").write_text("x")
    assert (hands.root / "a").stat().st_mode == (hands.root / "b").stat().st_mode


async def test_a_file_that_was_never_read_is_not_overwritten(hands: Hands) -> None:
    (hands.root / "a.txt").write_text("precious")
    result = await hands.write("a.txt", "new")
    assert not result.ok
    assert "read it first" in result.content
    assert (files(hands.root), hands.changes) == ({"a.txt": b"precious"}, [])
    await hands.read("a.txt")
    assert (await hands.write("a.txt", "new")).ok
    assert files(hands.root) == {"a.txt": b"new"}


async def test_what_was_written_may_be_written_again(hands: Hands) -> None:
    assert (await hands.write("a.txt", "one")).ok
    assert (await hands.write("a.txt", "two")).ok
    assert files(hands.root) == {"a.txt": b"two"}


@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
async def test_a_file_that_something_else_changed_since_is_refused(hands: Hands, tool: str) -> None:
    (hands.root / "a.txt").write_text("one two")
    await hands.read("a.txt")
    (hands.root / "a.txt").write_text("one six")
    given = {"content": "new"} if tool == "write_file" else {"old": "one", "new": "1"}
    result = await hands.call(tool, path="a.txt", **given)
    assert (result.ok, result.content) == (
        False,
        "a.txt was changed by something else since it was read; read it again",
    )
    await hands.read("a.txt")
    assert (await hands.call(tool, path="a.txt", **given)).ok


async def test_what_changes_between_the_question_and_the_answer_is_refused(hands: Hands) -> None:
    (hands.root / "a.txt").write_text("one two")
    await hands.preview("edit_file", path="a.txt", old="one", new="1")
    (hands.root / "a.txt").write_text("one two three")
    assert "changed by something else" in (await hands.edit("a.txt", "one", "1")).content


async def test_what_changes_while_it_is_written_is_refused(hands: Hands) -> None:
    (hands.root / "a.txt").write_text("one two")
    hands.before_writing = lambda event: (hands.root / "a.txt").write_text("from elsewhere")
    result = await hands.edit("a.txt", "one", "1")
    assert not result.ok
    assert files(hands.root) == {"a.txt": b"from elsewhere"}


async def test_the_previous_content_is_kept_before_the_file_is_touched(hands: Hands) -> None:
    (hands.root / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\n")
    seen: list[bytes | None] = []

    def look(event: FileChanged) -> None:
        assert event.before is not None
        seen.extend([hands.contents.get(event.before), (hands.root / "a.txt").read_bytes()])

    hands.before_writing = look
    assert (await hands.edit("a.txt", "one", "two")).ok
    assert seen == [b"\xef\xbb\xbfone\r\n"] * 2


async def test_writing_what_is_there_already_changes_nothing(hands: Hands) -> None:
    (hands.root / "a.txt").write_text("same\n")
    await hands.read("a.txt")
    before = (hands.root / "a.txt").stat().st_ino
    assert (await hands.write("a.txt", "same\n")).content == "a.txt is like this already; nothing was changed"
    assert ((hands.root / "a.txt").stat().st_ino, hands.changes) == (before, [])


@pytest.mark.parametrize("mode", [0o600, 0o755, 0o640])
async def test_the_mode_is_kept(hands: Hands, mode: int) -> None:
    (hands.root / "run").write_text("#!/bin/sh\n")
    (hands.root / "run").chmod(mode)
    assert (await hands.edit("run", "/bin/sh", "/bin/bash")).ok
    assert stat.S_IMODE((hands.root / "run").stat().st_mode) == mode


async def test_readers_see_the_old_file_or_the_new_one(hands: Hands) -> None:
    one, two = "1" * 300_000, "2" * 300_000
    await hands.write("a", one)
    wrong: list[int] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            content = (hands.root / "a").read_text()
            if content not in (one, two):
                wrong.append(len(content))

    reader = threading.Thread(target=look)
    reader.start()
    try:
        for content in [two, one] * 10:
            assert (await hands.write("a", content)).ok
    finally:
        done.set()
        reader.join()
    assert wrong == []


async def test_a_call_that_is_cancelled_before_it_writes_writes_nothing(hands: Hands) -> None:
    reached, never = asyncio.Event(), asyncio.Event()

    async def wait(event: FileChanged) -> None:
        reached.set()
        await never.wait()

    tool = named(edit_tools(Workspace(hands.root), hands.contents, SeenFiles()), "write_file")
    context = ToolContext("c", "s", "k", lambda text: None, wait)
    task = asyncio.create_task(tool.run({"path": "new/a", "content": "x"}, context))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list(hands.root.iterdir()) == []


# --- editing --------------------------------------------------------------------------------------------


async def test_the_one_place_is_replaced(hands: Hands) -> None:
    (hands.root / "a.py").write_text("def f():\n    return 1\n\n\ndef g():\n    return 2\n")
    result = await hands.edit("a.py", "    return 1\n", "    x = 1\n    return x\n")
    assert result == ToolResult("edited a.py (line 2)")
    expected = b"def f():\n    x = 1\n    return x\n\n\ndef g():\n    return 2\n"
    assert files(hands.root) == {"a.py": expected}


async def test_several_places_need_to_be_meant(hands: Hands) -> None:
    (hands.root / "a").write_text("x = 1\ny = 2\nx = 1\n")
    result = await hands.edit("a", "x = 1", "x = 3")
    assert not result.ok
    assert "2 times in a (lines 1, 3)" in result.content
    assert "replace_all" in result.content
    assert files(hands.root) == {"a": b"x = 1\ny = 2\nx = 1\n"}
    assert (
        await hands.edit("a", "x = 1", "x = 3", replace_all=True)
    ).content == "edited a (2 places, lines 1, 3)"
    assert files(hands.root) == {"a": b"x = 3\ny = 2\nx = 3\n"}


@pytest.mark.parametrize(
    ("text", "old", "told"),
    [
        (
            "def f():\n\treturn 1\n",
            "def f():\n    return 1",
            "only its white space differs from lines 1-2, which",
        ),
        ("a\n  b\n", "b \n", "only its white space differs from line 2"),
        ("print('hello world')\n", "print('helo world')", "line 1: print('hello world')"),
        ("nothing\n", "zzzzzzzz", "nor anything like it; read_file shows what is"),
        ("", "x", "nor anything like it"),
    ],
)
async def test_what_is_not_there_is_answered_with_what_is(
    hands: Hands, text: str, old: str, told: str
) -> None:
    (hands.root / "a").write_text(text)
    result = await hands.edit("a", old, "new")
    assert (result.ok, files(hands.root)) == (False, {"a": text.encode()})
    assert told.removesuffix(", which") in result.content


async def test_an_edit_that_is_none_is_refused(hands: Hands) -> None:
    (hands.root / "a").write_text("x")
    assert "write_file" in (await hands.edit("a", "", "y")).content
    assert "nothing would change" in (await hands.edit("a", "x", "x")).content
    assert "write_file makes a new file" in (await hands.edit("b", "x", "y")).content


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"one\r\ntwo\r\n", "one\ntwo", "1\n2", b"1\r\n2\r\n"),
        (b"one\r\ntwo\r\n", "two", "2\n3", b"one\r\n2\r\n3\r\n"),
        (b"one\r\ntwo", "two", "2\n3", b"one\r\n2\r\n3"),
        (b"one\ntwo\r\nthree\nfour\n", "three", "3\n3", b"one\ntwo\r\n3\n3\nfour\n"),
        (b"one\ntwo\r\nthree\nfour\n", "one\ntwo\nthree\n", "one\n2\nthree\n", b"one\n2\r\nthree\nfour\n"),
        (b"one\ntwo\r\nthree", "two\n", "", b"one\nthree"),
        (b"one\r\n\r\ntwo", "\n\n", "\n", b"one\r\ntwo"),
        (b"one", "one", "1", b"1"),
        (b"one\rtwo\n", "one\rtwo", "1\r2", b"1\r2\n"),
        (b"a\r\nb", "a\r\nb", "a\r\nc", b"a\r\nc"),
    ],
)
async def test_line_ends_stay_as_they_are(
    hands: Hands, before: bytes, old: str, new: str, after: bytes
) -> None:
    (hands.root / "a").write_bytes(before)
    assert (await hands.edit("a", old, new)).ok
    assert files(hands.root) == {"a": after}


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-8", b""),
        ("utf-8", codecs.BOM_UTF8),
        ("utf-16-le", codecs.BOM_UTF16_LE),
        ("utf-16-be", codecs.BOM_UTF16_BE),
        ("cp1252", b""),
    ],
)
@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
async def test_the_encoding_is_kept(hands: Hands, encoding: str, mark: bytes, tool: str) -> None:
    (hands.root / "a").write_bytes(mark + "naïve — one\r\ntwo\r\n".encode(encoding))
    await hands.read("a")
    if tool == "edit_file":
        assert (await hands.edit("a", "one\n", "é\n")).ok
    else:
        assert (await hands.write("a", "naïve — é\ntwo\n")).ok
    assert files(hands.root) == {"a": mark + "naïve — é\r\ntwo\r\n".encode(encoding)}


async def test_a_character_that_the_encoding_does_not_have(hands: Hands) -> None:
    (hands.root / "a").write_bytes("naïve".encode("cp1252"))
    await hands.read("a")
    refused = await hands.edit("a", "ve", "日本")
    assert (refused.ok, refused.content) == (
        False,
        "a is Windows-1252, which cannot hold '日'; use another character",
    )
    assert (
        await hands.write("a", "日本\n")
    ).content == "wrote a (1 line; now UTF-8: Windows-1252 cannot hold it)"
    assert files(hands.root) == {"a": "日本\n".encode()}


@settings(max_examples=150, deadline=None)
@given(
    lines=st.lists(st.tuples(st.text("ab é", max_size=4), st.sampled_from(["\n", "\r\n"])), max_size=8),
    start=st.integers(0, 40),
    length=st.integers(1, 20),
    new=st.text("abc\n", max_size=6),
)
def test_an_edit_changes_nothing_but_its_place(
    lines: list[tuple[str, str]], start: int, length: int, new: str
) -> None:
    from agent_chat.tools.replacing import replace_exactly
    from agent_chat.tools.text_content import TextContent

    content = TextContent("".join(text + end for text, end in lines))
    old = content.unix[start : start + length]
    if not old or old == new:
        return
    at = content.unix.find(old)
    try:
        after = replace_exactly(content, old, new, every=False, shown="a").content
    except ToolError:
        assert content.unix.find(old, at + len(old)) != -1
        return
    assert after.unix == content.unix[:at] + new + content.unix[at + len(old) :]
    # Lines that are wholly outside keep their bytes.
    first, last = content.unix.count("\n", 0, at), content.unix.count("\n", at + len(old))
    old_lines, new_lines = content.text.splitlines(True), after.text.splitlines(True)
    assert new_lines[:first] == old_lines[:first]
    assert (
        last == 0 or new_lines[-max(0, last - 1) :][: last - 1] == old_lines[-max(0, last - 1) :][: last - 1]
    )


# --- what is refused ------------------------------------------------------------------------------------


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


# --- what a person is shown -----------------------------------------------------------------------------


async def test_a_new_file_is_shown_as_a_diff(hands: Hands) -> None:
    preview = await hands.preview("write_file", path="a/b.py", content="one\ntwo")
    assert preview == Preview(
        "diff",
        "--- /dev/null\n+++ b/a/b.py\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file",
    )
    assert files(hands.root) == {}


async def test_a_change_is_shown_as_a_diff_with_what_a_diff_does_not_show(hands: Hands) -> None:
    lines = [f"line {number}" for number in range(1, 30)]
    (hands.root / "a").write_bytes("\r\n".join([*lines, ""]).encode("utf-8-sig"))
    preview = await hands.preview("edit_file", path="a", old="line 20\n", new="line 20\nand\n")
    assert preview == Preview(
        "diff",
        "--- a/a\n+++ b/a\n@@ -18,6 +18,7 @@\n line 18\n line 19\n line 20\n+and\n"
        " line 21\n line 22\n line 23",
        "keeps UTF-8 and CRLF line ends",
    )


async def test_a_large_change_is_shown_in_part_and_soon(hands: Hands) -> None:
    content = "".join(f"{number}\n" for number in range(100_000))
    async with asyncio.timeout(20):
        preview = await hands.preview("write_file", path="a", content=content)
    assert len(preview.text) < 21_000
    assert "characters left out" in preview.text


async def test_r28_markup_in_a_file_is_text(hands: Hands) -> None:
    text = "see [/INST] [bold]x[/bold] [/] [red"
    await hands.write("[red].txt", text)
    assert (await hands.read("[red].txt")).content == text
    preview = await hands.preview("edit_file", path="[red].txt", old="[red", new="[blue]")
    assert f"-{text}" in preview.text
