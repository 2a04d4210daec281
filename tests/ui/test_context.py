"""What a person is told of the context window."""

from __future__ import annotations

import pytest
from support.faces import FakeControls, entry, notes

from agent_chat.core.context import ContextUse, context_use
from agent_chat.core.context_events import ThinnedResult
from agent_chat.core.events import (
    CacheMissed,
    CompactionFailed,
    CompactionStarted,
    CompactionUndone,
    ContextCompacted,
    ContextThinned,
    Event,
    JobReplied,
    SessionTitled,
    TurnPinned,
)
from agent_chat.core.messages import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from agent_chat.core.model import ToolSpec, Usage
from agent_chat.ui.commands import Commands, Reaction
from agent_chat.ui.context import context_report
from agent_chat.ui.view import View

DONE = ContextCompacted(
    summary="## Goal\n\x1b[2Jsheep", pinned=("a",), dropped=40, kept=6, tokens_before=90_000, tokens=12_000
)
SHOWN: list[tuple[Event, list[tuple[str, str]]]] = [
    (
        CompactionStarted(reason="full", model="small", tokens=81_000, window=100_000),
        [
            (
                "notice",
                (
                    "The context holds 81,000 tokens (81 % of the window). "
                    "small summarizes the earlier part of the conversation."
                ),
            )
        ],
    ),
    (
        CompactionStarted(reason="asked", model="m", tokens=5_000, window=None),
        [("notice", "m summarizes the earlier part of the conversation.")],
    ),
    (
        DONE,
        [
            (
                "notice",
                (
                    "40 messages replaced by a summary; kept: the last 6 messages, 1 pinned text. "
                    "The context went from 90,000 to 12,000 tokens. "
                    "The whole conversation stays in the session; /compact undo shows it to the model again."
                ),
            ),
            ("detail", "summary:\n## Goal\n␛[2Jsheep"),
        ],
    ),
    (
        CompactionFailed(message="The server is down.", tokens=1),
        [("warning", "There is no summary: The server is down. The conversation goes on as it is.")],
    ),
    (CompactionUndone(tokens=90_000), [("notice", "The model sees everything again: 90,000 tokens.")]),
    (
        ContextThinned(results=(ThinnedResult(3, "r1"),), limit=1_000, tokens=1),
        [
            (
                "notice",
                "1 old tool result cut to make room in the context window; the model can read them again",
            )
        ],
    ),
    (TurnPinned(text="x"), [("detail", "pinned: the text outlasts every compaction")]),
    (
        CacheMissed(changed="tools", detail="new: find", prompt=9_000, cached=10),
        [
            (
                "warning",
                "Only 10 of 9,000 tokens came from the provider's cache: the tools changed: new: find.",
            )
        ],
    ),
    (
        CacheMissed(changed="none", detail="", prompt=9_000, cached=0),
        [
            (
                "detail",
                (
                    "Only 0 of 9,000 tokens came from the provider's cache: the request began as before, "
                    "so the provider has forgotten it."
                ),
            )
        ],
    ),
    (
        JobReplied(job="title", model="s", text="x", usage=Usage(30, 0, 4), cost_usd=None, duration_s=1),
        [("detail", "title by s | 30 tokens in, 4 out | cost unknown")],
    ),
    (SessionTitled(title="Sheep\x1b[0m"), [("detail", "title: Sheep␛[0m")]),
]


@pytest.mark.parametrize(("event", "shown"), SHOWN, ids=lambda value: getattr(value, "type", None))
def test_the_words_for_an_event(event: Event, shown: list[tuple[str, str]]) -> None:
    assert notes(View(conversation=True).entry(entry(event))) == shown


def test_while_a_summary_is_written_the_status_says_so() -> None:
    view = View(conversation=True)
    view.entry(entry(CompactionStarted(reason="asked", model="m", tokens=1, window=None)))
    assert "summarizing" in view.status
    view.entry(entry(DONE))
    assert "summarizing" not in view.status


MESSAGES = (
    SystemMessage("s" * 396),
    UserMessage("u" * 196),
    AssistantMessage("a" * 96),
    ToolMessage("c", "t", "r" * 796),
)
SPEC = ToolSpec("t", "d" * 390, {})


def test_what_a_provider_counted_is_shared_out_among_the_sources() -> None:
    use = context_use(MESSAGES, (SPEC,), 1_000, 2_000)
    assert abs(use.tokens - 1_000) <= 3
    assert use.share == pytest.approx(0.5, abs=0.01)
    assert use.sources["tool results"] == pytest.approx(2 * use.sources["system prompt"], rel=0.05)
    assert use.sources["summary"] == 0


def test_the_window_as_a_bar() -> None:
    use = ContextUse(
        10_000, {"system prompt": 1_000, "tools": 2_000, "summary": 0, "user": 1_000}, counted=True
    )
    assert context_report(use) == [
        "4,000 tokens of 10,000 (40 %), counted by the provider",
        "system prompt  1,000   10 %  ####",
        "tools          2,000   20 %  ########",
        "user           1,000   10 %  ####",
        "free           6,000   60 %  ........................",
    ]


def test_a_window_that_nobody_knows() -> None:
    [first, *_] = context_report(ContextUse(None, {"user": 10}, counted=False))
    assert first == "10 tokens, estimated; the model's window is not known (set agent.context.window)"


def said(line: str) -> str:
    reaction = Commands(FakeControls()).react(line)
    assert reaction is not None
    return "\n".join(note.text for note in reaction.notes)


def test_the_commands() -> None:
    assert said("/context").startswith("10 tokens, estimated")
    assert said("/pin") == "Pinned: hello"
    assert said("/compact undo") == "There is no compaction to take back."
    assert Commands(FakeControls()).react("/compact") == Reaction(compact="")
    assert Commands(FakeControls()).react("/compact the sheep") == Reaction(compact="the sheep")
