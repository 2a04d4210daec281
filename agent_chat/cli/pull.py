"""Fetches an embedded model and shows how far it is."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from agent_chat.local.catalog import CatalogEntry
from agent_chat.local.download import Progress, fetch
from agent_chat.local.machine import gib

STEP = 10
"""Per cent between two lines where there is no terminal."""

Report = Callable[[Progress], None]


async def pull_model(entry: CatalogEntry, stream: TextIO, folder: Path | None = None) -> Path:
    """The file of the model; a bar on a terminal, else a line now and then. Raises LocalModelError."""
    shown = _bar if stream.isatty() else _lines
    with shown(entry, stream) as report:
        return await fetch(entry, folder, report)


@contextmanager
def _bar(entry: CatalogEntry, stream: TextIO) -> Generator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(file=stream)) as bar:
        task = bar.add_task(f"local/{entry.name}", total=entry.size)
        yield lambda progress: bar.update(
            task, completed=progress.done, description=f"local/{entry.name} from {progress.source}"
        )


@contextmanager
def _lines(entry: CatalogEntry, stream: TextIO) -> Generator[Report]:
    told = -1

    def report(progress: Progress) -> None:
        nonlocal told
        step = progress.done * 100 // max(progress.total, 1) // STEP
        if step > told:
            told = step
            amount = f"{gib(progress.done)} of {gib(progress.total)}"
            stream.write(f"local/{entry.name}: {step * STEP} % ({amount}) from {progress.source}\n")
            stream.flush()

    yield report
