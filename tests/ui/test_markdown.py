"""Markdown while it is being written: exact lines, however it is cut into pieces."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_chat.ui.markdown import MAX_BLOCK, MarkdownStream
from agent_chat.ui.paint import Paint
from agent_chat.ui.render import Renderer

RENDERER = Renderer(Paint(color=True, unicode=True))


def streamed(source: str, *, width: int = 40, size: int = 1, renderer: Renderer = RENDERER) -> list[str]:
    stream = MarkdownStream(renderer, width)
    lines: list[str] = []
    for at in range(0, len(source), size):
        lines.extend(stream.feed(source[at : at + size]))
        stream.open()
    return [*lines, *stream.end()]


def plain(lines: list[str]) -> list[str]:
    return [re.sub(r"\x1b\[[\d;]*m", "", line) for line in lines]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("one\ntwo\n\n\nthree", ["one", "two", "", "three"]),
        ("# Title\ntext", ["Title", "text"]),
        ("- a\n- b\n  - c\n- d", [" • a", " • b", "    • c", " • d"]),
        ("3. a\n4. b", [" 3. a", " 4. b"]),
        ("text\n- a\n1984. was a year", ["text", " • a", " 1984. was a year"]),
        ("a year:\n1984. was one", ["a year:", "1984. was one"]),
        ("> q\n> r\n\nend", ["▌ q", "▌ r", "", "end"]),
        ("a\n\n---\nb", ["a", "", "─" * 40, "b"]),
        ("[text](http://e.x/)", ["text (http://e.x/)"]),
        (
            "<http://e.x/> <b>x</b> &lt; &#27; ![i](http://e/)",
            ["<http://e.x/> <b>x</b> &lt; &#27; !i", "(http://e/)"],
        ),
        ("    code\n", ["    code"]),
        ("```py\nx = 1\n\n# no title\n```\nend", ["```py", "x = 1", "", "# no title", "```", "end"]),
        ("```\nnot closed", ["```", "not closed"]),
        ("````\n```\n````", ["````", "```", "````"]),
        (
            "1. Do:\n   ```sh\n   ls\n   ```\n   then\n2. Next",
            [" 1. Do:", "   ```sh", "   ls", "   ```", "   then", " 2. Next"],
        ),
        ("- a\n\n  more\n- b", [" • a", "", "  more", " • b"]),
        ("Title\n=====\ntext", ["Title", "text"]),
        ("", []),
        ("\n\n", []),
    ],
)
def test_what_is_shown(source: str, expected: list[str]) -> None:
    assert plain(streamed(source)) == expected


def test_emphasis_is_ansi_and_color_can_be_left_out() -> None:
    source = "a **b** *c* `d` ~~e~~"
    assert streamed(source) == ["a \x1b[1mb\x1b[0m \x1b[3mc\x1b[0m \x1b[36md\x1b[0m \x1b[9me\x1b[0m"]
    without = Renderer(Paint(color=False, unicode=True))
    assert streamed(source, renderer=without) == ["a \x1b[1mb\x1b[0m \x1b[3mc\x1b[0m d \x1b[9me\x1b[0m"]


def test_a_table() -> None:
    assert plain(streamed("| a | b |\n|---|--:|\n| 日本 | 1 |\n")) == [
        "┌──────┬───┐",
        "│ a    │ b │",
        "├──────┼───┤",
        "│ 日本 │ 1 │",
        "└──────┴───┘",
    ]


def test_without_unicode_the_frames_are_ascii() -> None:
    ascii_only = Renderer(Paint(color=False, unicode=False))
    shown = streamed("- a\n\n> b\n\n| a |\n|---|\n| b |\n", renderer=ascii_only)
    assert "".join(shown).isascii()


def test_r28_markup_of_the_drawing_library_is_text() -> None:
    text = "see [/INST] [bold]x[/bold] [link=http://e]y[/link] [/] [red"
    assert plain(streamed(text, width=80)) == [text]
    assert plain(streamed(f"| {text} |\n|---|\n", width=80))[1] == f"│ {text} │"


def test_r29_escape_sequences_are_text_also_when_cut() -> None:
    assert plain(streamed("a \x1b[2J `\x1b]0;x\x07`\n```\n\x1b[1A\n```")) == [
        "a ␛[2J ␛]0;x␇",
        "```",
        "␛[1A",
        "```",
    ]


def test_r31_long_words_are_folded_and_nothing_is_lost() -> None:
    shown = plain(streamed(f"{'w' * 500}\n\n| a |\n|---|\n| {'v' * 500} |\n"))
    assert max(map(len, shown)) <= 40
    assert "".join(shown).count("w") == 500
    assert "".join(shown).count("v") == 500


def test_finished_lines_come_as_soon_as_they_are_certain() -> None:
    stream = MarkdownStream(RENDERER, 40)
    assert stream.feed("- a\n- b") == []
    assert plain(stream.open()) == [" • a", " • b"]
    assert plain(stream.feed("\n- c")) == [" • a"]
    assert plain(stream.feed("\n```\nx\ny")) == [" • b", " • c", "```", "x"]
    assert plain(stream.open()) == ["y"]


@pytest.mark.parametrize(
    "source",
    ["word " * 2_000, "x" * 9_000, "line of text\n" * 800, "```\n" + "word " * 2_000, "> quote\n" * 900],
)
def test_a_block_that_never_ends_is_cut(source: str) -> None:
    stream = MarkdownStream(RENDERER, 40)
    lines: list[str] = []
    for at in range(0, len(source), 100):
        lines.extend(stream.feed(source[at : at + 100]))
        assert sum(map(len, plain(stream.open()))) <= MAX_BLOCK + 2_000
    lines.extend(stream.end())
    kept = re.sub(r"[\s▌>`]", "", "".join(plain(lines)))
    assert kept == re.sub(r"[\s>`]", "", source)


def test_a_table_that_is_cut_goes_on_with_its_head() -> None:
    shown = plain(streamed("| a | b |\n|---|---|\n" + "| cell | cell |\n" * 400, size=50))
    assert "".join(shown).count("cell") == 800
    assert sum(line.startswith("┌") for line in shown) == sum("│ a " in line for line in shown) > 1


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(
        st.sampled_from(
            [
                "text",
                "**b",
                "- item",
                "  - sub",
                "1. one",
                "> q",
                "```",
                "| a | b |",
                "|---|---|",
                "",
                "---",
                "# h",
            ]
        ),
        max_size=12,
    ),
    st.integers(1, 9),
)
def test_the_pieces_make_no_difference(lines: list[str], size: int) -> None:
    source = "\n".join(lines)
    assert streamed(source, size=size) == streamed(source, size=1_000)
