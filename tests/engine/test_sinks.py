from __future__ import annotations

from support.engine import MemorySink

from agent_chat.core.events import Entry, UserSaid
from agent_chat.core.model import Delta, TextDelta
from agent_chat.engine.sinks import InOrder


class Broken:
    async def emit(self, entry: Entry) -> None:
        raise RuntimeError("no screen")

    def show(self, delta: Delta) -> None:
        raise RuntimeError("no screen")


class Checking(MemorySink):
    def __init__(self, log: MemorySink) -> None:
        super().__init__()
        self._log = log

    async def emit(self, entry: Entry) -> None:
        assert self._log.entries[-1] is entry, "the log comes first"
        await super().emit(entry)


async def test_the_log_comes_first_and_a_broken_face_fails_nothing() -> None:
    problems: list[str] = []
    log = MemorySink()
    face = Checking(log)
    sink = InOrder(log, Broken(), face, on_problem=problems.append)
    entries = [Entry(seq, 0.0, "s1", 1, 0, UserSaid(text="hi")) for seq in (1, 2)]
    for entry in entries:
        await sink.emit(entry)
    sink.show(TextDelta("x"))
    assert log.entries == face.entries == entries
    assert face.deltas == [TextDelta("x")]
    assert len(problems) == 1
    assert "no screen" in problems[0]
