"""Exports for people: pleasant to read, and nothing in a session acts in them."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt
from support.session_logs import T0, started, turn_events, write

from agent_chat.core.context_events import ContextCompacted
from agent_chat.core.events import (
    Event,
    FileChanged,
    IterationStarted,
    ModelReplied,
    ReplyInterrupted,
    Rewound,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    UserSaid,
)
from agent_chat.core.messages import ToolCall
from agent_chat.core.model import Usage
from agent_chat.sessions.export_html import to_html
from agent_chat.sessions.export_markdown import closed, to_markdown
from agent_chat.sessions.reading import LoadedSession
from agent_chat.sessions.store import SessionStore
from agent_chat.ui.sanitize import visible

HOSTILE = (
    '<script>alert(1)</script> <img src="http://evil.example/x.png"> [x](javascript:alert(1)) '
    "![pixel](http://evil.example/p.png) \x1b[2J \u202e </details></pre></style> **bold** &amp;"
)


def session(store: SessionStore, *events: Event) -> LoadedSession:
    log = store.create(T0)
    write(log, [started(), *events])
    log.close()
    return store.read(log.session_id)


def turn_with(text: str, answer: str, result: str = "result", name: str = "echo") -> list[Event]:
    call = ToolCall("c1", name, f'{{"text": "{len(result)}"}}')
    reply = ModelReplied(
        model="m", text=answer, finish_reason="stop", usage=Usage(10, 0, 5, 0), cost_usd=None, duration_s=0.5
    )
    return [
        TurnStarted(),
        UserSaid(text=text),
        IterationStarted(),
        reply.model_copy(update={"text": "I look.", "calls": (call,)}),
        ToolStarted(call_id="c1", name=name, arguments={"text": result}, effect="read", idempotency_key="k"),
        ToolFinished(call_id="c1", name=name, ok=True, content=result, size=1, duration_s=0.1),
        IterationStarted(),
        reply,
        TurnEnded(
            kind="completed",
            reason="final_answer",
            answer=answer,
            evidence="",
            iterations=2,
            tool_calls=1,
            usage=Usage(20, 0, 10, 0),
            cost_usd=None,
            duration_s=1.0,
        ),
    ]


class Page(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_markdown_tells_who_said_what_in_order(store: SessionStore) -> None:
    text = to_markdown(session(store, *turn_with("Look\nat this", "# Done\n\nAll is *well*.")), visible)
    lines = [line for line in text.splitlines() if line]
    assert lines[0] == "# Look"
    assert lines[4] == "- 1 turn, 20 tokens in, 10 out, cost unknown"
    begin = next(index for index, line in enumerate(lines) if line.startswith("## Turn 1, 2026-09-21"))
    assert lines[begin + 1 :] == [
        "**You**",
        "> Look",
        "> at this",
        "**Assistant**",
        "I look.",
        "<details><summary>echo: ok in 0.1 s</summary>",
        "```json",
        "{",
        '  "text": "result"',
        "}",
        "```",
        "```text",
        "result",
        "```",
        "</details>",
        "# Done",
        "All is *well*.",
    ]


def test_what_is_in_a_result_stays_in_its_fence(store: SessionStore) -> None:
    nasty = "```\n# not a heading\n````\n</details>"
    text = to_markdown(session(store, *turn_with("x", "y", nasty)), visible)
    fences = [token for token in MarkdownIt().parse(text) if token.type == "fence"]
    assert [fence.content for fence in fences][1] == nasty + "\n"
    assert [token.content for token in MarkdownIt().parse(text) if token.type == "heading_open"] == ["", ""]


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("```py\nx", "\n```"),
        ("~~~~\n~~~\n```", "\n~~~~"),
        ("```\nx\n```", ""),
        ("``` a `b` ```", ""),
        ("text", ""),
        ("````\n```", "\n````"),
    ],
)
def test_a_fence_that_was_left_open_is_closed(text: str, end: str) -> None:
    assert closed(text) == text + end


def test_r28_r29_nothing_hostile_acts_in_the_html(store: SessionStore) -> None:
    loaded = session(store, *turn_with(HOSTILE, f"{HOSTILE}\n\n```html\n{HOSTILE}\n```", HOSTILE, HOSTILE))
    html = to_html(loaded, visible)
    page = Page(html)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "img", "iframe", "object", "link", "form", "base", "svg"}
    assert "alert(1)" in page.text
    attributes = [(name, value or "") for _, attrs in page.elements for name, value in attrs.items()]
    assert [name for name, _ in attributes if name.startswith("on") or name == "style"] == []
    assert [value for name, value in attributes if name in ("href", "src") and "script" in value] == []
    assert {value for name, value in attributes if name == "src"} == set()
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert "default-src 'none'" in html


def test_r28_r29_the_markdown_holds_no_control_characters(store: SessionStore) -> None:
    text = to_markdown(session(store, *turn_with(HOSTILE, HOSTILE, HOSTILE, HOSTILE)), visible)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert "<summary><" not in text


def test_the_html_has_code_in_color_tables_links_and_folded_tools(store: SessionStore) -> None:
    answer = (
        "See [the page](https://example.com/a).\n\n```python\ndef f(): return 1\n```\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n~~no~~"
    )
    html = to_html(session(store, *turn_with("hi", answer)), visible)
    page = Page(html)
    assert ("a", {"href": "https://example.com/a", "rel": "noopener noreferrer nofollow"}) in page.elements
    assert ("details", {"class": "tool ok"}) in page.elements
    assert {"table", "s", "pre"} <= {tag for tag, _ in page.elements}
    assert '<span class="k">def</span>' in html
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html
    assert "def f(): return 1" in page.text
    assert "cost unknown" in page.text


def test_a_long_session_has_a_table_of_contents(store: SessionStore) -> None:
    short = Page(to_html(session(store, *turn_events(1), *turn_events(2)), visible))
    assert "nav" not in {tag for tag, _ in short.elements}
    events = [event for number in range(1, 6) for event in turn_events(number, f"question {number}")]
    page = Page(to_html(session(store, *events), visible))
    links = [attrs["href"] for tag, attrs in page.elements if tag == "a"]
    assert links == [f"#turn-{number}" for number in range(1, 6)]
    ids = [attrs["id"] for tag, attrs in page.elements if tag == "section"]
    assert ids == [f"turn-{number}" for number in range(1, 6)]


def test_turns_that_did_not_end_well_say_so(store: SessionStore) -> None:
    failed = TurnEnded(
        kind="degraded",
        reason="max_iterations",
        answer="What is known so far.",
        evidence="20 iterations were used",
        iterations=20,
        tool_calls=0,
        usage=Usage(),
        cost_usd=0.0,
        duration_s=1.0,
    )
    changed = FileChanged(
        call_id="c", workspace="/w", path="a.py", before=None, after="0" * 64, added=3, removed=1
    )
    compacted = ContextCompacted(summary="s", dropped=7, kept=1, tokens_before=9, tokens=1)
    loaded = session(
        store,
        TurnStarted(),
        UserSaid(text="one"),
        changed,
        compacted,
        failed,
        TurnStarted(),
        UserSaid(text="two"),
        ReplyInterrupted(text="half an ans"),
        Rewound(to_turn=2, turns=1),
        TurnStarted(),
        UserSaid(text="three"),
    )
    for text in (to_markdown(loaded, visible).replace("\\", ""), Page(to_html(loaded, visible)).text):
        for told in (
            "a.py: +3 -1",
            "The first 7 messages were summarized",
            "What is known so far.",
            "degraded, max_iterations: 20 iterations were used",
            "half an ans",
            "taken back",
            "This turn has no end in the log.",
        ):
            assert told in text, told
