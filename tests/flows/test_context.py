"""A conversation that outgrows the context window, and the bytes that providers cache."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.fixtures import Command, ProviderFactory
from support.flows import log_of, of_type
from support.process import wait_until
from support.provider import DELTA, FIN, HTTP, OK, REPEAT, TC, USE, Item, Request, T

SUMMARY = "## Goal\nThe user counts sheep; there were 12 of them."
DONE = FIN("stop")


def tokens(request: Request) -> int:
    return len(request.raw) // 4


def wants_summary(request: Request) -> bool:
    return "## Open points" in json.dumps(request.body["messages"])


def counted(request: Request) -> Sequence[Item]:
    """An answer, or a summary where one is asked for, with a count of the tokens that were sent."""
    answer = SUMMARY if wants_summary(request) else "fine"
    return [T(answer), DONE, USE(tokens(request), 5)]


def texts(body: dict[str, Any]) -> str:
    return "\n".join(str(message["content"]) for message in body["messages"][1:])


def lines(*said: str) -> bytes:
    return ("\n".join(said) + "\n").encode()


def long_talk(turns: int, length: int = 4_000) -> bytes:
    return lines(*(f"message {number} {'x' * length}" for number in range(1, turns + 1)))


def test_the_beginning_of_a_request_is_the_bytes_of_the_one_before_also_over_a_resume(
    chat: Command, provider: ProviderFactory, workspace: Path
) -> None:
    (workspace / "notes.txt").write_text("naïve café — 羊\n" * 30)
    thinking = DELTA(
        {"reasoning_content": "hm", "thinking_blocks": [{"type": "thinking", "signature": "s="}]}
    )
    turn = [
        [T("Looking. "), thinking, TC(0, "c1", "read_file", '{"path": "notes.txt"}'), FIN("tool_calls")],
        [TC(0, "c2", "calc", '{"expression":"1/0"}'), TC(1, "c3", "nope", "{oops"), FIN("tool_calls")],
        [T("12 sheep — “all” of them \U0001f411"), DONE],
    ]
    server = provider(*turn, *turn, HTTP(500), *turn, [T("last"), DONE], strict=True)
    assert chat(provider=server, stdin=lines("count “sheep” \U0001f411", "again")).code == 0
    quick = ("-C", "request.retries=0")
    assert chat("-c", *quick, provider=server, stdin=lines("this one fails", "and now?")).code == 0
    assert chat("-c", provider=server, stdin=lines("more")).code == 0
    bodies = [request.raw for request in server.requests]
    assert len(bodies) == 11
    for before, after in itertools.pairwise(bodies):
        # A message that failed is joined by the next: up to its own text everything is the same.
        shared = before.removesuffix(b'"}]}') if before is bodies[6] else before.removesuffix(b"]}")
        assert shared != before
        assert after.startswith(shared)


def test_a_summary_is_written_in_time_and_nothing_ever_overflows(
    chat: Command, provider: ProviderFactory, home: Path
) -> None:
    server = provider(REPEAT(counted), strict=True)
    result = chat("-C", "context.window=20000", provider=server, stdin=long_talk(30))
    assert result.code == 0
    assert result.out == "fine\n" * 30
    entries = log_of(home)
    done = of_type(entries, "context_compacted")
    assert len(done) >= 2
    assert of_type(entries, "context_shortened") == []
    assert len(of_type(entries, "user_message")) == 30, "the log keeps everything"
    assert max(map(tokens, server.requests)) < 20_000
    first, last = server.bodies[0], server.bodies[-1]
    assert last["messages"][0] == first["messages"][0]
    assert last["tools"] == first["tools"]
    assert SUMMARY in texts(last)
    assert "message 1 " in texts(last)
    assert "message 30 " in texts(last)
    assert "message 10 " not in texts(last)
    assert "of the window). " in result.err
    assert "replaced by a summary; kept: the last" in result.err


def test_a_summary_that_fails_never_costs_the_run(
    chat: Command, provider: ProviderFactory, home: Path
) -> None:
    def no_summary(request: Request) -> Sequence[Item]:
        if tokens(request) > 20_000:
            return (HTTP(400, body={"error": {"code": "context_length_exceeded", "message": "too long"}}),)
        return (HTTP(500),) if wants_summary(request) else counted(request)

    server = provider(REPEAT(no_summary), strict=True)
    settings = ("-C", "context.window=20000", "-C", "request.retries=0")
    result = chat(*settings, provider=server, stdin=long_talk(24))
    assert result.code == 0
    assert result.out == "fine\n" * 24
    assert "There is no summary" in result.err
    entries = log_of(home)
    assert of_type(entries, "context_shortened")
    assert len(of_type(entries, "user_message")) == 24


def test_the_user_looks_at_the_window_compacts_it_and_takes_that_back(
    chat: Command, provider: ProviderFactory, home: Path
) -> None:
    server = provider(REPEAT(counted), strict=True)
    said = ("the pass phrase is sheep", "/pin", "two", "three", "/context", "/compact the sheep", "/context")
    result = chat(
        "-C", "context.window=50000", provider=server, stdin=lines(*said, "four", "/compact undo", "five")
    )
    assert result.code == 0
    assert "Pinned: the pass phrase is sheep" in result.err
    shown = [line for line in result.err.splitlines() if "of 50,000 (" in line]
    assert len(shown) == 2
    assert all("counted by the provider" in line for line in shown)
    for source in ("system prompt", "tools", "user", "assistant", "free"):
        assert any(line.strip().startswith(source) for line in result.err.splitlines()), source
    assert any(line.strip().startswith("summary") for line in result.err.splitlines())
    bodies = server.bodies
    assert "the sheep" in texts(bodies[3]), "what the summary is to look at"
    assert SUMMARY in texts(bodies[4])
    assert texts(bodies[4]).count("the pass phrase is sheep") == 2, "the first message, and what was pinned"
    assert SUMMARY not in texts(bodies[5])
    assert all(word in texts(bodies[5]) for word in ("two", "three", "four", "five"))
    # And the next process sees the same.
    resumed = provider([T("ok"), DONE], strict=True)
    chat("-c", provider=resumed, stdin=lines("six"))
    assert resumed.bodies[0]["messages"][:-1] == [
        *bodies[5]["messages"],
        {"role": "assistant", "content": "fine"},
    ]


def test_there_is_nothing_to_compact_or_to_take_back(chat: Command, provider: ProviderFactory) -> None:
    result = chat(provider=provider(OK, allow_unused=True), stdin=lines("/compact", "/compact undo", "/pin"))
    assert "There is nothing to summarize yet." in result.err
    assert "There is no compaction to take back." in result.err
    assert "There is no turn yet that could be pinned." in result.err


def test_a_session_is_named_by_the_small_model(
    chat: Command, provider: ProviderFactory, home: Path, workspace: Path
) -> None:
    def when_titled(request: Request) -> Sequence[Item]:
        wait_until(lambda: bool(of_type(log_of(home), "titled")), "the title is in the log")
        return [T("ok"), DONE]

    # The title is written behind the conversation: while the second turn runs.
    main = provider([T("There are 12."), DONE], when_titled, strict=True)
    small = provider([T('"Counting the sheep."'), DONE, USE(30, 4)], strict=True)
    config = workspace / "models.yaml"
    models = [
        {
            "model_name": name,
            "litellm_params": {"model": "openai/m", "api_base": server.base_url, "api_key": "k"},
        }
        for name, server in (("main", main), ("little", small))
    ]
    config.write_text(
        json.dumps({"model_list": models, "agent": {"roles": {"main": "main", "small": "little"}}})
    )
    result = chat("--config", str(config), stdin=lines("how many sheep?", "thanks"))
    assert (result.out, result.code) == ("There are 12.\nok\n", 0)
    assert "how many sheep?" in texts(small.bodies[0])
    assert [event.title for event in of_type(log_of(home), "titled")] == ["Counting the sheep"]
    listed = chat("sessions", "list", "--output", "json")
    assert "Counting the sheep" in listed.out
