"""How a fetch is shown: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import hashlib
import io
from dataclasses import replace
from pathlib import Path

import pyte
from local.range_server import RangeServer, serving

from agent_chat.cli.pull import pull_model
from agent_chat.local.catalog import CATALOG, CatalogEntry, HubSource

CONTENT = bytes(range(256)) * 20_000


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def entry_at(url: str) -> CatalogEntry:
    digest = hashlib.sha256(CONTENT).hexdigest()
    source = HubSource("the [red]hub", url)
    return replace(
        CATALOG["smollm2-135m"], file_name="m.gguf", size=len(CONTENT), sha256=digest, sources=(source,)
    )


async def test_elsewhere_lines_tell_each_tenth_once(tmp_path: Path) -> None:
    stream = io.StringIO()
    with serving(RangeServer(CONTENT)) as server:
        path = await pull_model(entry_at(server.url), stream, tmp_path)

    lines = stream.getvalue().splitlines()
    assert path.read_bytes() == CONTENT
    assert len(lines) == len(set(lines)) <= 11
    assert "100 %" in lines[-1]
    assert all("the [red]hub" in line and "\x1b" not in line for line in lines)


async def test_on_a_terminal_a_bar_is_drawn(tmp_path: Path) -> None:
    stream = Terminal()
    with serving(RangeServer(CONTENT)) as server:
        await pull_model(entry_at(server.url), stream, tmp_path)

    screen = pyte.Screen(100, 10)
    pyte.Stream(screen).feed(stream.getvalue().replace("\n", "\r\n"))
    shown = " ".join("".join(screen.display).split())
    assert "local/smollm2-135m" in shown
    assert "the [red]hub" in shown
