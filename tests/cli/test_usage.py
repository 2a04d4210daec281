"""`agent-chat usage`: what was spent, by everything it can be told by; what is unknown is said."""

from __future__ import annotations

import dataclasses
import json
import time
from pathlib import Path
from typing import Any

import pytest
from support.fixtures import Command
from support.session_logs import T0, place, started, turn_events, write, write_session

from agent_chat.core.context_events import JobReplied
from agent_chat.core.events import Event, ModelReplied, ReplyDiscarded, ToolFinished
from agent_chat.core.messages import ToolCall
from agent_chat.core.model import Usage
from agent_chat.sessions.fork import fork_session
from agent_chat.sessions.store import SessionStore
from agent_chat.sessions.transfer import import_session, read_exported, to_json


@pytest.fixture
def store(home: Path) -> SessionStore:
    return SessionStore(home / ".local" / "state" / "agent-chat", lambda _: None)


def usage(chat: Command, *args: str) -> dict[str, Any]:
    done = chat("usage", *args, "--output", "json", TZ="UTC")
    assert (done.code, done.err) == (0, "")
    told = json.loads(done.out)
    for row in (*told["rows"], told["total"]):
        counts = row["usage"]
        row["usage"] = (counts["prompt"], counts["cached"], counts["completion"], counts["reasoning"])
    return told


ALL = ("--days", "36500")


def reply(model: str, *tools: str, cost: float | None = 0.5, prompt: int = 100) -> ModelReplied:
    return ModelReplied(
        model=model,
        text="",
        calls=tuple(ToolCall(f"c{index}", name, "{}") for index, name in enumerate(tools)),
        finish_reason="stop",
        usage=Usage(prompt, 0, 10, 0),
        cost_usd=cost,
        duration_s=0.1,
    )


def test_the_table(chat: Command, store: SessionStore) -> None:
    write_session(store, 2)
    done = chat("usage", *ALL)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "model  replies  tokens in  cached  out  tool calls  failed  tool time     cost",
        "m            4        200      40   40           2       0      0.2 s  $1.0000",
        "total        4        200      40   40           2       0      0.2 s  $1.0000",
    ]


def test_by_model_small_jobs_and_discarded_replies_count(chat: Command, store: SessionStore) -> None:
    log = store.create(T0)
    job = JobReplied(
        job="title", model="small", text="T", usage=Usage(7, 0, 1, 0), cost_usd=0.25, duration_s=1
    )
    empty = ReplyDiscarded(model="big", reason="empty", usage=None, cost_usd=None)
    write(log, [started(), reply("big"), reply("dear", cost=3.0), empty, job])
    log.close()
    told = usage(chat, *ALL)
    assert [(row["name"], row["replies"], row["cost_usd"]) for row in told["rows"]] == [
        ("dear", 1, 3.0),
        ("big", 2, None),
        ("small", 1, 0.25),
    ]
    assert told["rows"][1]["known_cost_usd"] == 0.5
    assert told["rows"][1]["replies_without_usage"] == 1
    assert (told["total"]["usage"], told["total"]["known_cost_usd"]) == ((207, 0, 21, 0), 3.75)
    assert (told["total"]["cost_usd"], told["total"]["replies_without_cost"]) == (None, 1)


def test_by_tool_the_parts_add_up(chat: Command, store: SessionStore) -> None:
    log = store.create(T0)
    failed = ToolFinished(call_id="c0", name="shell", ok=False, content="", size=0, duration_s=2)
    events: list[Event] = [
        started(),
        *turn_events(1),
        reply("m", "shell", "echo", "echo"),
        failed,
        reply("m"),
    ]
    write(log, events)
    log.close()
    told = usage(chat, *ALL, "--by", "tool")
    rows = {row["name"]: row for row in told["rows"]}
    assert {name: row["usage"][0] for name, row in rows.items()} == {
        "echo": 50 + 33 + 33,
        "shell": 34,
        "(no tool)": 150,
    }
    assert rows["shell"]["failed_tool_calls"] == 1
    assert (rows["echo"]["tool_calls"], rows["echo"]["tool_seconds"]) == (1, 0.1)
    total = told["total"]
    assert sum(row["usage"][0] for row in rows.values()) == total["usage"][0]
    assert sum(row["known_cost_usd"] for row in rows.values()) == pytest.approx(total["known_cost_usd"])
    assert sum(row["replies"] for row in rows.values()) == total["replies"] == 4


def test_by_folder_session_turn_and_iteration(chat: Command, store: SessionStore) -> None:
    one, _ = write_session(store, 3, workspace="/a")
    two, _ = write_session(store, 1, workspace="/b")
    assert [(row["name"], row["sessions"]) for row in usage(chat, *ALL, "--by", "project")["rows"]] == [
        ("/a", 1),
        ("/b", 1),
    ]
    assert [row["name"] for row in usage(chat, *ALL, "--by", "session")["rows"]] == [one, two]
    turns = usage(chat, "--session", one, "--by", "turn")
    assert [(row["name"], row["cost_usd"]) for row in turns["rows"]] == [("1", 0.5), ("2", 0.5), ("3", 0.5)]
    iterations = usage(chat, "--session", one, "--by", "iteration")["rows"]
    assert [row["name"] for row in iterations] == ["1.1", "1.2", "2.1", "2.2", "3.1", "3.2"]
    assert usage(chat, "--session", two)["total"]["cost_usd"] == 0.5


def test_by_day_and_since(chat: Command, store: SessionStore) -> None:
    now = time.time()
    log = store.create(now)
    for days_ago, entry in zip(
        (20, 8, 1, 0), place(log.session_id, [started(), reply("m"), reply("m"), reply("m")]), strict=True
    ):
        log.append(dataclasses.replace(entry, at=now - 86_400 * days_ago))
    log.close()
    days = [time.strftime("%Y-%m-%d", time.gmtime(now - 86_400 * ago)) for ago in (8, 1, 0)]
    assert [row["name"] for row in usage(chat, "--by", "day")["rows"]] == days
    assert [row["name"] for row in usage(chat, "--days", "7", "--by", "day")["rows"]] == days[1:]
    assert [row["name"] for row in usage(chat, "--days", "1", "--by", "day")["rows"]] == days[2:]


def test_a_fork_does_not_spend_again_what_it_took_over(chat: Command, store: SessionStore) -> None:
    session_id, _ = write_session(store, 2)
    copy = fork_session(store, session_id, T0)
    log, loaded = store.resume(copy)
    write(log, turn_events(3), after=loaded[-1])
    log.close()
    rows = usage(chat, *ALL, "--by", "session")["rows"]
    assert [(row["name"], row["cost_usd"]) for row in rows] == [(session_id, 1.0), (copy, 0.5)]
    exported = read_exported(to_json(store.read(session_id), store.results).encode())
    import_session(store, exported, T0)
    assert usage(chat, *ALL)["total"]["cost_usd"] == 1.5


def test_an_unknown_price_is_said_and_never_zero(chat: Command, store: SessionStore) -> None:
    log = store.create(T0)
    write(
        log,
        [
            started(),
            reply("free", cost=0.0),
            reply("odd", cost=None),
            reply("mixed", cost=None),
            reply("mixed"),
        ],
    )
    log.close()
    done = chat("usage", *ALL)
    costs = {line.split()[0]: line.rsplit("  ", 1)[1] for line in done.out.splitlines()[1:]}
    assert costs == {
        "free": "$0.0000",
        "odd": "unknown",
        "mixed": "$0.5000 + unknown",
        "total": "$0.5000 + unknown",
    }
    assert done.err == (
        "The cost of 2 of 4 replies is unknown; `model_info` in the configuration gives a model its price.\n"
    )


def test_nothing_spent(chat: Command) -> None:
    done = chat("usage")
    assert (done.code, done.out, done.err) == (0, "", "Nothing was spent in this time.\n")
    assert usage(chat)["rows"] == []


@pytest.mark.parametrize(
    "args", [("--by", "moon"), ("--days", "0"), ("--days", "x"), ("--by", "turn"), ("--session", "nope")]
)
def test_mistakes(chat: Command, args: tuple[str, ...]) -> None:
    done = chat("usage", *args)
    assert (done.code, done.out) == (2, "")


def test_r28_r29_names_are_shown_literally(chat: Command, store: SessionStore) -> None:
    log = store.create(T0)
    write(log, [started(), reply("[red]\x1b[2Jx")])
    log.close()
    done = chat("usage", *ALL)
    assert "[red]␛[2Jx" in done.out
    assert "\x1b" not in done.out + chat("usage", *ALL, "--output", "json").out
