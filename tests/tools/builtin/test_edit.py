"""Writing and editing files: what is kept, what is refused, what a person is shown of it."""

from __future__ import annotations

import asyncio
import codecs
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.hands import Hands, files
from support.tools import named

from agent_chat.core.approval import Preview
from agent_chat.core.events import FileChanged
from agent_chat.core.observation import ToolResult
from agent_chat.core.ports import ToolContext
from agent_chat.tools.builtin.edit import edit_tools
from agent_chat.tools.errors import ToolError
from agent_chat.tools.seen import SeenFiles
from agent_chat.tools.workspace import Workspace


@pytest.fixture
def hands(workspace: Path) -> Hands:
    return Hands(workspace)


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
