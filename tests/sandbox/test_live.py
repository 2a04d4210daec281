"""Output shown while it comes."""

from __future__ import annotations

import asyncio

from agent_chat.sandbox.live import PIECE, Live


async def test_text_is_shown_while_it_comes() -> None:
    shown: asyncio.Queue[str] = asyncio.Queue()
    live = Live(shown.put_nowait)
    live.feed("日".encode()[:2])
    live.feed("日".encode()[2:] + b"a\0")
    assert await asyncio.wait_for(shown.get(), 5) == "日a\ufffd"
    live.close()
    assert shown.empty()


async def test_a_flood_is_thinned_and_says_so() -> None:
    shown: list[str] = []
    live = Live(shown.append)
    for _ in range(100):
        live.feed(b"x" * PIECE)
    live.feed(b"END")
    live.close()
    assert sum(map(len, shown)) < 3 * PIECE
    assert shown[-1].endswith("xEND")
    assert "characters not shown" in shown[-1]


async def test_an_unfinished_character_is_marked_at_the_end() -> None:
    shown: list[str] = []
    live = Live(shown.append)
    live.feed("é".encode()[:1])
    live.close()
    assert shown == ["\ufffd"]
