"""When a provider's cache is missed, what broke the beginning of the request is named."""

from __future__ import annotations

import pytest
from support.engine import INFO, Box, bench, call, echo

from agent_chat.core.events import CacheMissed
from agent_chat.core.messages import SystemMessage, UserMessage
from agent_chat.core.model import Query, Reply, ToolSpec, Usage
from agent_chat.engine.prefix import PrefixWatch
from agent_chat.engine.runtime import ContextRules, Rules
from agent_chat.models.scripted import ScriptedModel

READ = ToolSpec("read", "Reads.", {"type": "object"})
MOVED = ToolSpec("read", "Reads now.", {"type": "object"})
FOUND = ToolSpec("find", "Finds.", {"type": "object"})
SYSTEM, HELLO = SystemMessage("You help."), UserMessage("hello")


def query(*messages: SystemMessage | UserMessage, tools: tuple[ToolSpec, ...] = (READ,)) -> Query:
    return Query(messages or (SYSTEM, HELLO), tools)


def reply(cached: int, prompt: int = 4_000, model: str = "m") -> Reply:
    return Reply("ok", model=model, usage=Usage(prompt, cached, 5))


def warmed() -> PrefixWatch:
    watch = PrefixWatch()
    assert watch.judge(query(), reply(3_900)) is None
    return watch


@pytest.mark.parametrize(
    ("asked", "answered", "changed", "detail"),
    [
        (query(), reply(0, model="other"), "model", "other after m"),
        (query(SystemMessage("You help me."), HELLO), reply(0), "system", ""),
        (query(tools=(READ, FOUND)), reply(0), "tools", "new: find"),
        (query(tools=(MOVED,)), reply(0), "tools", "described differently: read"),
        (query(tools=()), reply(0), "tools", "gone: read"),
        (query(SYSTEM, UserMessage("hello\n\nagain")), reply(0), "messages", "message 2 of 2, user"),
        (query(SYSTEM, HELLO, UserMessage("more")), reply(0), "none", ""),
    ],
)  # fmt: skip
def test_what_changed_is_named(asked: Query, answered: Reply, changed: str, detail: str) -> None:
    missed = warmed().judge(asked, answered)
    assert missed is not None
    assert (missed.changed, missed.detail, missed.prompt, missed.cached) == (changed, detail, 4_000, 0)


@pytest.mark.parametrize(
    "answered",
    [reply(3_000), reply(0, prompt=500), Reply("ok"), Reply("ok", usage=Usage())],
    ids=["a hit", "too short to be cached", "not told", "no count"],
)
def test_there_is_nothing_to_tell(answered: Reply) -> None:
    assert warmed().judge(query(tools=()), answered) is None


def test_a_provider_that_never_cached_is_not_complained_about() -> None:
    watch = PrefixWatch()
    assert watch.judge(query(), reply(0)) is None
    assert watch.judge(query(tools=()), reply(0)) is None


def test_what_was_changed_on_purpose_is_no_surprise() -> None:
    watch = warmed()
    watch.forget()
    assert watch.judge(query(tools=()), reply(0)) is None


async def test_it_is_an_event_of_the_session() -> None:
    first = Reply("", (call("c1", "echo", '{"text": "a"}'),), "tool_calls", "m", Usage(4_000, 3_900, 5))
    model = ScriptedModel(first, reply(3_900), reply(0))
    b = bench(model, echo())
    await b.session.start(INFO)
    await b.session.turn("hi")
    assert b.sink.of(CacheMissed) == []
    b.session.runtime.toolbox = Box([])
    await b.session.turn("again")
    [missed] = b.sink.of(CacheMissed)
    assert (missed.changed, missed.detail) == ("tools", "gone: echo")


async def test_a_compaction_is_no_surprise_either() -> None:
    steps = [Reply("ok " * 400, model="m", usage=Usage(1_000 * n, 950 * n, 5)) for n in range(1, 8)]
    model = ScriptedModel(*steps, Reply("## Goal\nx"), reply(0), repeat_last=True)
    b = bench(model, rules=Rules(context=ContextRules(window=8_500)))
    await b.session.start(INFO)
    for n in range(9):
        await b.session.turn(f"{n} " + "x " * 1_000)
    assert "context_compacted" in b.sink.types()
    assert b.sink.of(CacheMissed) == []
