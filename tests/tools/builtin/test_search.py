"""Searching, with ripgrep where the machine has it and always without."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from pathlib import Path

import pytest
from support.tools import call

from agent_chat.core.observation import ToolResult
from agent_chat.tools.builtin.search import MAX_MATCHES, search_tools
from agent_chat.tools.workspace import Workspace

RIPGREP = shutil.which("rg")


@pytest.fixture(
    params=[
        None,
        pytest.param(RIPGREP, marks=pytest.mark.skipif(RIPGREP is None, reason="ripgrep is not installed")),
    ],
    ids=["own", "ripgrep"],
)
def program(request: pytest.FixtureRequest) -> str | None:
    return request.param


async def search(workspace: Path, program: str | None, query: str, **arguments: object) -> ToolResult:
    (search_text,) = search_tools(Workspace(workspace), lambda: program)
    return await call(search_text, query=query, **arguments)


@pytest.fixture
def project(workspace: Path) -> Path:
    files = {
        "README.md": "Load users with load_users.\n",
        "src/users.py": "import os\n\n    def load_users(path):\n        return Load(path)\n",
        "src/deep/more.py": "x = 1\nload_users('a.b')\n",
        ".hidden": "load_users\n",
        ".gitignore": "build/\n",
        "build/out.py": "load_users\n",
        ".git/config": "load_users\n",
        "-n": "--load-users\n",
    }
    for path, text in files.items():
        (workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (workspace / path).write_text(text)
    (workspace / "binary").write_bytes(b"\0\0load_users\n")
    (workspace / "link").symlink_to("README.md")
    return workspace


async def test_lines_are_found_in_a_fixed_order(project: Path, program: str | None) -> None:
    result = await search(project, program, "load_users")
    assert result == ToolResult(
        ".hidden:1: load_users\n"
        "README.md:1: Load users with load_users.\n"
        "src/deep/more.py:2: load_users('a.b')\n"
        "src/users.py:3:     def load_users(path):"
    )


async def test_a_folder_a_file_and_a_glob_narrow_the_search(project: Path, program: str | None) -> None:
    below = await search(project, program, "load_users", path="src/deep")
    assert below.content == "src/deep/more.py:2: load_users('a.b')"
    one = await search(project, program, "load_users", path="README.md")
    assert one.content == "README.md:1: Load users with load_users."
    globbed = await search(project, program, "load_users", glob="*.py")
    assert [line.partition(":")[0] for line in globbed.content.splitlines()] == [
        "src/deep/more.py",
        "src/users.py",
    ]
    anchored = await search(project, program, "load_users", glob="src/*.py")
    assert anchored.content.startswith("src/users.py:3:")
    excluded = await search(project, program, "load_users", glob="!*.py")
    assert "src/" not in excluded.content


async def test_case_matters_only_where_the_query_has_capitals(project: Path, program: str | None) -> None:
    assert len((await search(project, program, "load(", path="src")).content.splitlines()) == 1
    assert (await search(project, program, "Load", path="src")).content.startswith("src/users.py:4:")
    assert "contains 'LOAD'" in (await search(project, program, "LOAD")).content


async def test_a_query_is_text_unless_it_is_said_to_be_a_pattern(project: Path, program: str | None) -> None:
    assert (await search(project, program, "a.b")).content == "src/deep/more.py:2: load_users('a.b')"
    assert "contains" in (await search(project, program, "l..d_users")).content
    pattern = await search(project, program, r"def \w+\(", regex=True)
    assert pattern.content == "src/users.py:3:     def load_users(path):"


async def test_a_query_that_looks_like_an_option_is_a_query(project: Path, program: str | None) -> None:
    assert (await search(project, program, "--load")).content == "-n:1: --load-users"
    assert (await search(project, program, "--load", path="-n")).content == "-n:1: --load-users"


async def test_a_broken_pattern_is_an_error(project: Path, program: str | None) -> None:
    result = await search(project, program, "(a", regex=True)
    assert not result.ok
    assert "regex parse error" in result.content


async def test_nothing_found_says_where(project: Path, program: str | None) -> None:
    result = await search(project, program, "zebra", path="src", glob="*.py")
    assert result == ToolResult("(no line in src in files like *.py contains 'zebra')")


@pytest.mark.parametrize("query", ["", "two\nlines"])
async def test_queries_that_are_no_line(project: Path, program: str | None, query: str) -> None:
    assert not (await search(project, program, query)).ok


async def test_a_folder_that_is_not_there(project: Path, program: str | None) -> None:
    result = await search(project, program, "x", path="nowhere")
    assert result == ToolResult("nowhere does not exist; list_files shows what is there", ok=False)


async def test_many_matches_and_long_lines_are_shown_in_part(workspace: Path, program: str | None) -> None:
    (workspace / "many.txt").write_text("needle\n" * 100_000)
    result = await search(workspace, program, "needle")
    lines = result.content.splitlines()
    assert len(lines) == MAX_MATCHES + 1
    assert lines[-1] == "[the first 100 matches; a longer query, a path or a glob finds fewer]"
    (workspace / "many.txt").write_text("needle" + "x" * 1_000_000 + "\n")
    assert len((await search(workspace, program, "needle")).content) < 600
    (workspace / "many.txt").write_text(("needle" + "x" * 350 + "\n") * 200)
    bounded = (await search(workspace, program, "needle")).content
    assert len(bounded) < 14_100
    assert "[the first 3" in bounded


async def test_bytes_that_are_no_text_do_not_matter(workspace: Path, program: str | None) -> None:
    (workspace / "latin.txt").write_bytes(b"caf\xe9 needle\n")
    assert (await search(workspace, program, "needle")).content == "latin.txt:1: caf� needle"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
async def test_fifos_are_not_waited_for(workspace: Path, program: str | None) -> None:
    os.mkfifo(workspace / "pipe")
    (workspace / "a").write_text("needle")
    assert (await search(workspace, program, "needle")).content == "a:1: needle"
    assert not (await search(workspace, program, "needle", path="pipe")).ok


async def test_modules_in_the_workspace_are_not_imported(workspace: Path) -> None:
    for name in ("json", "re", "pathspec", "sitecustomize"):
        (workspace / f"{name}.py").write_text("raise SystemExit('imported')")
    result = await search(workspace, None, "imported", glob="re.py")
    assert result.content == "re.py:1: raise SystemExit('imported')"


@pytest.mark.skipif(not Path("/proc").exists(), reason="reads /proc")
async def test_a_search_that_is_cancelled_leaves_no_process(workspace: Path) -> None:
    (workspace / "slow.txt").write_text("a" * 40 + "!\n")
    marker = "(a+)+$"
    running = asyncio.create_task(search(workspace, None, marker, regex=True))
    await _until(lambda: _processes(marker) != [])
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await _until(lambda: _processes(marker) == [])


def _processes(marker: str) -> list[str]:
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        if "agent_chat.tools.scan" in command and marker in command:
            found.append(path.parent.name)
    return found


async def _until(holds: object, within: float = 20.0) -> None:
    assert callable(holds)
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline, "did not happen in time"
        await asyncio.sleep(0.01)


async def test_keys_in_the_environment_are_not_passed_on(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-TEST456")
    spy = tmp_path / "rg"
    spy.write_text("#!/bin/sh\nenv | sed 's/^/env\\x00 1:/'\n")
    spy.chmod(0o755)
    result = await search(workspace, str(spy), "x")
    assert "PATH=" in result.content
    assert "sk-TEST456" not in result.content
