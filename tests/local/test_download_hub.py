"""Fetching from the hub: real HTTP on loopback, cut and answered wrongly."""

import asyncio
import hashlib
import resource
from dataclasses import replace
from pathlib import Path

import pytest
from local.range_server import RangeServer, serving

from agent_chat.local.catalog import CATALOG, CatalogEntry, HubSource
from agent_chat.local.download import FOLDER_VARIABLE, Progress, fetch, fetched, models_folder, remove
from agent_chat.local.errors import LocalModelError

CONTENT = bytes(range(256)) * 20_000
PART = 3_000_000


def entry_for(*urls: str, content: bytes = CONTENT) -> CatalogEntry:
    return replace(
        CATALOG["smollm2-135m"],
        file_name="model.gguf",
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        sources=tuple(HubSource(f"hub {number}", url) for number, url in enumerate(urls, 1)),
    )


async def test_the_file_arrives_with_progress(tmp_path: Path) -> None:
    seen: list[Progress] = []
    with serving(RangeServer(CONTENT)) as server:
        entry = entry_for(server.url)
        assert fetched(entry, tmp_path) is None
        path = await fetch(entry, tmp_path, seen.append)
    assert path.read_bytes() == CONTENT
    assert fetched(entry, tmp_path) == path
    assert seen[-1] == Progress(len(CONTENT), len(CONTENT), "hub 1")
    assert [progress.done for progress in seen] == sorted(progress.done for progress in seen)


async def test_what_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    with serving(RangeServer(CONTENT)) as server:
        for _ in range(2):
            await fetch(entry_for(server.url), tmp_path)
        assert len(server.asked) == 1


async def test_a_cut_connection_is_taken_up_where_it_was(tmp_path: Path) -> None:
    with serving(RangeServer(CONTENT, cuts=[PART, 1_000_000])) as server:
        path = await fetch(entry_for(server.url), tmp_path)
        first, *later = server.asked
    assert path.read_bytes() == CONTENT
    assert first is None
    assert len(later) == 2
    assert all(wanted and wanted.startswith("bytes=") and wanted != "bytes=0-" for wanted in later)


async def test_a_server_without_ranges_is_read_from_the_start(tmp_path: Path) -> None:
    with serving(RangeServer(CONTENT, cuts=[PART])) as server:
        server.ranges = False
        path = await fetch(entry_for(server.url), tmp_path)
    assert path.read_bytes() == CONTENT


async def test_a_cancelled_download_goes_on_later(tmp_path: Path) -> None:
    with serving(RangeServer(CONTENT)) as server:
        entry = entry_for(server.url)
        task: asyncio.Task[Path]

        def cancel(progress: Progress) -> None:
            task.cancel()

        task = asyncio.create_task(fetch(entry, tmp_path, cancel))
        with pytest.raises(asyncio.CancelledError):
            await task
        assert fetched(entry, tmp_path) is None
        there = (tmp_path / "model.gguf.part").stat().st_size
        assert 0 < there < len(CONTENT)
        path = await fetch(entry, tmp_path)
        assert server.asked[-1] == f"bytes={there}-"
    assert path.read_bytes() == CONTENT
    assert not (tmp_path / "model.gguf.part").exists()


async def test_a_wrong_hash_is_refused_and_the_next_source_asked(tmp_path: Path) -> None:
    bad = RangeServer(CONTENT[:-1] + b"!")
    with serving(bad), serving(RangeServer(CONTENT)) as good:
        path = await fetch(entry_for(bad.url, good.url), tmp_path)
    assert path.read_bytes() == CONTENT


async def test_bytes_left_by_a_bad_source_do_not_spoil_a_good_one(tmp_path: Path) -> None:
    (tmp_path / "model.gguf.part").write_bytes(b"x" * PART)
    with serving(RangeServer(CONTENT)) as server:
        path = await fetch(entry_for(server.url), tmp_path)
        assert server.asked == [f"bytes={PART}-", None]
    assert path.read_bytes() == CONTENT


async def test_every_source_that_failed_is_named_with_its_reason(tmp_path: Path) -> None:
    gone, other = RangeServer(CONTENT), RangeServer(CONTENT[1:])
    gone.status = 404
    with serving(RangeServer(b"")) as closed:
        pass
    bad = RangeServer(CONTENT[:-1] + b"!")
    with serving(gone), serving(other), serving(bad), pytest.raises(LocalModelError) as caught:
        await fetch(entry_for(gone.url, other.url, bad.url, closed.url), tmp_path)
    assert "hub 1: it answered 404" in caught.value.message
    assert f"hub 2: it offers another file: {len(CONTENT) - 1} bytes" in caught.value.message
    assert "hub 3: its file does not have the right SHA-256" in caught.value.message
    assert "hub 4: " in caught.value.message
    assert f"put model.gguf (from {gone.url}) into {tmp_path}" in caught.value.hint
    assert "local:/path/file.gguf" in caught.value.hint


async def test_two_at_once_fetch_it_once(tmp_path: Path) -> None:
    seen: list[Progress] = []
    with serving(RangeServer(CONTENT)) as server:
        entry = entry_for(server.url)
        paths = await asyncio.gather(fetch(entry, tmp_path), fetch(entry, tmp_path, seen.append))
        assert len(server.asked) == 1
    assert paths[0] == paths[1]
    assert "another process" in {progress.source for progress in seen}


async def test_a_disk_without_room_is_known_before(tmp_path: Path) -> None:
    with serving(RangeServer(CONTENT)) as server:
        with pytest.raises(LocalModelError, match="Not enough disk space") as caught:
            await fetch(replace(entry_for(server.url), size=10**18), tmp_path)
        assert server.asked == []
    assert FOLDER_VARIABLE in caught.value.hint


async def test_a_disk_that_fills_up_midway_says_so(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with serving(RangeServer(CONTENT)) as server:
        entry = entry_for(server.url)
        resource.setrlimit(resource.RLIMIT_FSIZE, (PART, before[1]))
        try:
            with pytest.raises(LocalModelError, match="disk is full") as caught:
                await fetch(entry, tmp_path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert FOLDER_VARIABLE in caught.value.hint
        path = await fetch(entry, tmp_path)
        assert server.asked[-1] is not None
    assert path.read_bytes() == CONTENT


async def test_a_folder_that_cannot_be_used_names_the_variable(tmp_path: Path) -> None:
    # Root may write into a folder of mode 0555, but nobody into /proc.
    with pytest.raises(LocalModelError, match=r"The folder for models, /proc/nope, cannot be used") as caught:
        await fetch(entry_for("http://127.0.0.1:1/"), Path("/proc/nope"))
    assert FOLDER_VARIABLE in caught.value.hint


async def test_removing_frees_everything(tmp_path: Path) -> None:
    with serving(RangeServer(CONTENT)) as server:
        entry = entry_for(server.url)
        await fetch(entry, tmp_path)
    assert remove(entry, tmp_path) == len(CONTENT)
    assert fetched(entry, tmp_path) is None
    assert remove(entry, tmp_path) == 0


def test_the_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert models_folder() == tmp_path
    monkeypatch.delenv(FOLDER_VARIABLE)
    assert models_folder().name == "models"
