"""Reading and listing files, of any size, kind and encoding."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.tools import call, named

from agent_chat.core.observation import ToolResult
from agent_chat.tools.builtin.files import MAX_CHARACTERS, file_tools
from agent_chat.tools.workspace import Workspace


async def read(workspace: Path, path: str, **arguments: object) -> ToolResult:
    return await call(named(file_tools(Workspace(workspace)), "read_file"), path=path, **arguments)


async def listed(workspace: Path, **arguments: object) -> str:
    result = await call(named(file_tools(Workspace(workspace)), "list_files"), **arguments)
    return result.content


async def test_a_short_file_is_given_as_it_is(workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\n  two [bold]\n", "utf-8")
    assert await read(workspace, "a.txt") == ToolResult("one\n  two [bold]")


async def test_r28_text_that_looks_like_markup_is_text(workspace: Path) -> None:
    text = "see [/INST] [bold]x[/bold] [link=http://e]y[/link] [/] [red"
    (workspace / "[red]").write_text(text)
    assert (await read(workspace, "[red]")).content == text


async def test_a_long_file_is_read_in_parts(workspace: Path) -> None:
    (workspace / "a.txt").write_text("".join(f"line {number}\n" for number in range(1, 1001)))
    first = await read(workspace, "a.txt", limit=2)
    assert first.content == "line 1\nline 2\n[lines 1-2 of 1,000; offset=3 reads on]"
    middle = await read(workspace, "a.txt", offset=500, limit=1)
    assert middle.content == "line 500\n[lines 500-500 of 1,000; offset=501 reads on]"
    last = await read(workspace, "a.txt", offset=1000)
    assert last.content == "line 1000\n[lines 1000-1000 of 1,000; this is the end]"


async def test_reading_on_from_where_it_says_gives_the_whole_file(workspace: Path) -> None:
    whole = "".join(f"{number} {'é' * (number % 90)}\n" for number in range(1, 1500))
    (workspace / "a.txt").write_text(whole, "utf-8")
    pieces: list[str] = []
    offset = 1
    while True:
        lines = (await read(workspace, "a.txt", offset=offset, limit=2000)).content.splitlines()
        pieces += [line for line in lines if not line.startswith("[lines ")]
        if "reads on" not in lines[-1]:
            break
        offset = int(lines[-1].partition("offset=")[2].partition(" ")[0])
    assert "\n".join(pieces) + "\n" == whole


async def test_what_is_read_at_once_is_bounded_in_characters(workspace: Path) -> None:
    (workspace / "a.txt").write_text("".join("x" * 100 + "\n" for _ in range(10_000)))
    result = await read(workspace, "a.txt", limit=10_000)
    assert len(result.content) < MAX_CHARACTERS + 100
    assert result.content.endswith("[lines 1-138 of 10,000; offset=139 reads on]")


async def test_a_line_longer_than_all_that_is_shown_is_cut(workspace: Path) -> None:
    (workspace / "a.json").write_text("x" * 50_000 + "\nnext\n")
    result = await read(workspace, "a.json")
    shown, note = result.content.split("\n")
    assert shown == "x" * MAX_CHARACTERS
    assert note == "[line 1 is longer than 14,000 characters and cut here; offset=2 reads on after it]"
    assert (await read(workspace, "a.json", offset=2)).content.startswith("next\n")


async def test_a_file_of_gigabytes_is_read_only_where_it_is_asked_for(workspace: Path) -> None:
    with (workspace / "huge.log").open("wb") as file:
        file.write(b"first\nsecond\n" * 10_000)
        file.truncate(8 * 1024**3)
    result = await read(workspace, "huge.log", limit=2)
    assert result.content == "first\nsecond\n[lines 1-2 of a file of 8,589,934,592 bytes; offset=3 reads on]"


async def test_offsets_behind_the_end_say_where_the_end_is(workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\ntwo")
    (workspace / "wide.txt").write_text("one\ntwo", "utf-16")
    for name in ("a.txt", "wide.txt"):
        assert await read(workspace, name, offset=2) == ToolResult("two\n[lines 2-2 of 2; this is the end]")
        for offset in (3, 9):
            result = await read(workspace, name, offset=offset)
            assert result == ToolResult(f"{name} ends with line 2", ok=False)


async def test_offsets_and_limits_out_of_range_are_taken_for_the_nearest(workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\ntwo\n")
    assert (await read(workspace, "a.txt", offset=0)).content == "one\ntwo"
    assert (await read(workspace, "a.txt", offset=-3, limit=0)).content.startswith("one\n[lines 1-1 of 2;")


async def test_an_empty_file_says_so(workspace: Path) -> None:
    (workspace / "a.txt").touch()
    assert (await read(workspace, "a.txt")).content == "(a.txt is empty)"


@pytest.mark.parametrize(
    ("encoded", "text"),
    [
        ("é日本\r\nb\r\n".encode("utf-8-sig"), "é日本\nb"),
        ("é日本\nb\n".encode("utf-16"), "é日本\nb"),
        ("é日本\nb\n".encode("utf-16-be"), None),
        (b"\xfe\xff" + "é日本\nb\n".encode("utf-16-be"), "é日本\nb"),
        ("é日本\nb\n".encode("utf-32"), "é日本\nb"),
        ("naïve “quotes”\n".encode("cp1252"), "naïve “quotes”\n[not UTF-8: read as Windows-1252]"),
        (("a" * 70_000).encode() + b"\xff", None),
        (b"\x1b[31mred\x1b[0m\n", "\x1b[31mred\x1b[0m"),
    ],
)
async def test_encodings(workspace: Path, encoded: bytes, text: str | None) -> None:
    (workspace / "a.txt").write_bytes(encoded)
    result = await read(workspace, "a.txt")
    if text is not None:
        assert result == ToolResult(text)
    else:
        assert "binary" in result.content or "cut here" in result.content


async def test_a_multibyte_character_on_the_border_of_what_is_looked_at_first(workspace: Path) -> None:
    (workspace / "a.txt").write_bytes(b"x\n" * 32_767 + b"x" + "é\n".encode())
    assert (await read(workspace, "a.txt", offset=32_768)).content.startswith("xé\n[lines")


async def test_later_lines_of_wide_encodings(workspace: Path) -> None:
    (workspace / "a.txt").write_bytes("one\ntwo\nthree\n".encode("utf-16"))
    assert (await read(workspace, "a.txt", offset=3)).content.startswith("three\n[lines 3-3 of 3")


@pytest.mark.parametrize(
    "content", [b"\x89PNG\r\n\x1a\n\0\0\0", bytes(range(1, 32)) * 9, bytes(range(1, 256))]
)
async def test_binary_files_are_named_and_not_shown(workspace: Path, content: bytes) -> None:
    (workspace / "logo.png").write_bytes(content)
    result = await read(workspace, "logo.png")
    assert result == ToolResult(
        f"logo.png is a binary file (image/png, {len(content)} bytes), not text", ok=False
    )


async def test_a_folder_is_pointed_to_list_files(workspace: Path) -> None:
    (workspace / "src").mkdir()
    assert await read(workspace, "src") == ToolResult(
        "src is a folder; list_files shows what is in it", ok=False
    )


async def test_a_file_that_is_elsewhere_or_named_alike_is_pointed_to(workspace: Path) -> None:
    (workspace / "src/app").mkdir(parents=True)
    (workspace / "src/app/users.py").touch()
    (workspace / "README.md").touch()
    elsewhere = await read(workspace, "users.py")
    assert elsewhere.content == "users.py does not exist; did you mean src/app/users.py?"
    alike = await read(workspace, "REDME.md")
    assert alike.content == "REDME.md does not exist; did you mean README.md?"
    neither = await read(workspace, "zzz")
    assert neither == ToolResult("zzz does not exist; list_files shows what is there", ok=False)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
async def test_a_fifo_is_not_waited_for(workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    assert await read(workspace, "pipe") == ToolResult("pipe is not a regular file", ok=False)


async def test_a_part_of_a_path_that_is_a_file(workspace: Path) -> None:
    (workspace / "a.txt").touch()
    result = await read(workspace, "a.txt/b")
    assert not result.ok
    assert "a.txt/b" in result.content


async def test_a_folder_is_listed_by_name_with_folders_marked(workspace: Path) -> None:
    for name in ("b.py", "a.md", ".hidden"):
        (workspace / name).touch()
    (workspace / "src/inner").mkdir(parents=True)
    (workspace / "src/c.py").touch()
    (workspace / ".git").mkdir()
    assert await listed(workspace) == ".hidden\na.md\nb.py\nsrc/"
    assert await listed(workspace, path="src") == "src/c.py\nsrc/inner/"


async def test_patterns_look_in_all_folders_below(workspace: Path) -> None:
    for path in ("a.py", "src/b.py", "src/deep/c.py", "src/d.md", "node/e.py"):
        (workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (workspace / path).touch()
    assert await listed(workspace, pattern="*.py") == "a.py\nnode/e.py\nsrc/b.py\nsrc/deep/c.py"
    assert await listed(workspace, pattern="src/**/*.py") == "src/b.py\nsrc/deep/c.py"
    assert await listed(workspace, path="src", pattern="*.py") == "src/b.py\nsrc/deep/c.py"
    assert await listed(workspace, path="src", pattern="deep/*") == "src/deep/c.py"
    assert await listed(workspace, pattern="!*.py") == "src/d.md"
    assert await listed(workspace, pattern="**/") == "node/\nsrc/\nsrc/deep/"
    assert await listed(workspace, pattern="*.rs") == "(nothing in . matches '*.rs')"


async def test_what_git_ignores_is_left_out(workspace: Path) -> None:
    (workspace / ".gitignore").write_text("*.log\n/build/\n!keep.log\n")
    (workspace / "src").mkdir()
    (workspace / "src/.gitignore").write_text("generated.py\n!important.log\n")
    (workspace / "build").mkdir()
    for path in ("a.log", "keep.log", "build/x.py", "src/generated.py", "src/important.log", "src/b.py"):
        (workspace / path).touch()
    assert await listed(workspace, pattern="*") == (
        ".gitignore\nkeep.log\nsrc/.gitignore\nsrc/b.py\nsrc/important.log"
    )
    assert await listed(workspace, path="src") == "src/.gitignore\nsrc/b.py\nsrc/important.log"


async def test_long_lists_are_shown_in_part_and_the_rest_is_counted(workspace: Path) -> None:
    for number in range(30):
        (workspace / f"{number:02}").touch()
    assert await listed(workspace, limit=2) == "00\n01\n[28 more; a pattern or a subfolder shows fewer]"


async def test_links_are_listed_and_not_followed(workspace: Path) -> None:
    (workspace / "src").mkdir()
    (workspace / "src/up").symlink_to("..")
    (workspace / "src/a").touch()
    assert await listed(workspace, pattern="*") == "src/a"
    assert await listed(workspace, path="src") == "src/a\nsrc/up/"


async def test_listing_what_is_no_folder(workspace: Path) -> None:
    (workspace / "a").touch()
    assert await listed(workspace, path="a") == "a is a file, not a folder; read_file reads it"
    assert await listed(workspace, path="b") == "b does not exist; list_files shows what is there"


async def test_an_empty_folder_says_so(workspace: Path) -> None:
    assert await listed(workspace) == "(. is empty)"
