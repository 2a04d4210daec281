"""Fetches an embedded model and shows how far it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from agent_chat.local.catalog import CatalogEntry
from agent_chat.local.download import Progress, fetch
from agent_chat.local.machine import gib

STEP = 10
"""Per cent between two lines where there is no terminal."""

Report = Callable[[Progress], None]
Fetch = Callable[[CatalogEntry], Awaitable[Path]]
"""Gives the file of a model, fetched when it is missing. Raises LocalModelError."""


async def pull_model(entry: CatalogEntry, stream: TextIO, folder: Path | None = None) -> Path:
    """The file of the model; a bar on a terminal, else a line now and then. Raises LocalModelError."""
    if not stream.isatty():
        return await pull_in_lines(entry, lambda line: print(line, file=stream, flush=True), folder)
    with _bar(entry, stream) as report:
        return await fetch(entry, folder, report)


async def pull_in_lines(entry: CatalogEntry, tell: Callable[[str], None], folder: Path | None = None) -> Path:
    """The same where somebody else owns the terminal: `tell` is given a line now and then."""
    return await fetch(entry, folder, _lines(entry, tell))


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


def _lines(entry: CatalogEntry, tell: Callable[[str], None]) -> Report:
    told = -1

    def report(progress: Progress) -> None:
        nonlocal told
        step = progress.done * 100 // max(progress.total, 1) // STEP
        if step > told:
            told = step
            amount = f"{gib(progress.done)} of {gib(progress.total)}"
            tell(f"local/{entry.name}: {step * STEP} % ({amount}) from {progress.source}")

    return report
