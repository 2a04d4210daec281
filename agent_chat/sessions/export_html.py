"""A session as one HTML file: no scripts, nothing that is fetched, for screens and for paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any, assert_never, cast

from agent_chat.sessions.export_markdown import amount, became, cost, moment, tokens
from agent_chat.sessions.reading import LoadedSession
from agent_chat.sessions.story import Clean, Part, Remark, Said, StoryTurn, Written, outcome_of, story_of
from agent_chat.sessions.transcript import ToolUse

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Said to the browser, should anything in the file ask for more than it should."""
_MOST_COLORED = 50_000
"""Characters of a code block that are colored."""
_CONTENTS_FROM = 4
"""Turns from which on there is a table of contents."""


def to_html(loaded: LoadedSession, clean: Clean) -> str:
    """The whole document. Markup, links to scripts and images of the session's texts do nothing in it."""

    def plain(text: str) -> str:
        return escape(" ".join(clean(text).split()))

    summary = loaded.summary
    turns = story_of(loaded.entries, clean)
    title = plain(summary.title) or "Session"
    facts = (
        f"{moment(summary.started)} to {moment(summary.last)}",
        plain(summary.model),
        amount(len(turns), "turn"),
        tokens(summary.usage),
        cost(summary.cost_usd),
        f"<code>{plain(summary.workspace)}</code>",
        f"<code>{plain(summary.id)}</code>",
    )
    page = _Page(clean)
    body = "\n".join((*_contents(turns, plain), *(page.turn(turn) for turn in turns)))
    return (
        '<!DOCTYPE html>\n<html lang="und">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n<style>\n{_style()}</style>\n</head>\n<body>\n"
        f"<header>\n<h1>{title}</h1>\n<p>{' · '.join(facts)}</p>\n</header>\n"
        f"<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _contents(turns: Sequence[StoryTurn], plain: Clean) -> Iterator[str]:
    if len(turns) < _CONTENTS_FROM:
        return
    yield "<nav><details><summary>Turns</summary><ol>"
    for turn in turns:
        first = next((part.text for part in turn.parts if isinstance(part, Said)), "")
        number = turn.record.number
        yield f'<li value="{number}"><a href="#turn-{number}">{plain(first[:200])[:100] or "…"}</a></li>'
    yield "</ol></details></nav>"


class _Page:
    def __init__(self, clean: Clean) -> None:
        self._clean = clean
        self._markdown = _markdown()

    def turn(self, turn: StoryTurn) -> str:
        record = turn.record
        back = ' class="back"' if record.taken_back else ""
        parts = [f'<section id="turn-{record.number}"{back}>', *map(self._part, turn.parts)]
        if told := outcome_of(record):
            parts.append(f'<p class="outcome">{escape(" ".join(self._clean(told).split()))}</p>')
        facts = [f"Turn {record.number}", moment(record.started), tokens(record.usage), cost(record.cost_usd)]
        if record.duration_s is not None:
            facts.append(f"{record.duration_s:.1f} s")
        if record.taken_back:
            facts.append("taken back")
        return "\n".join((*parts, f"<footer>{' · '.join(facts)}</footer>", "</section>"))

    def _part(self, part: Part) -> str:
        match part:
            case Said(text=text):
                return f'<div class="said">{escape(text.strip())}</div>'
            case Written(text=text):
                return f'<div class="written">\n{self._markdown.render(text)}</div>'
            case ToolUse():
                return _tool(part)
            case Remark(text=text):
                return f'<p class="remark">{escape(text)}</p>'
            case _:
                assert_never(part)


def _tool(tool: ToolUse) -> str:
    state = "ok" if tool.ok else "failed"
    result = f"<pre>{escape(tool.content)}</pre>" if tool.content else ""
    return (
        f'<details class="tool {state}"><summary><code>{escape(tool.name)}</code> '
        f"<span>{escape(became(tool))}</span></summary>"
        f"<pre>{_colored(tool.arguments, 'json')}</pre>{result}</details>"
    )


def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    def highlight(code: str, language: str, attributes: str) -> str:
        return _colored(code, language)

    markdown = MarkdownIt("commonmark", {"html": False, "linkify": False, "highlight": highlight})
    # An image would be fetched from wherever a model says, as soon as somebody opens the file.
    markdown.enable(["table", "strikethrough"]).disable("image")
    markdown.add_render_rule("link_open", _link_open)
    return markdown


def _link_open(renderer: Any, tokens: Sequence[Any], index: int, options: Any, env: Any) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    rendered: str = renderer.renderToken(tokens, index, options, env)
    return rendered


def _colored(code: str, language: str) -> str:
    """HTML of code, with its signs escaped."""
    from pygments import highlight, lexers
    from pygments.formatters import HtmlFormatter
    from pygments.util import ClassNotFound

    if len(code) > _MOST_COLORED or not language:
        return escape(code)
    try:
        lexer = cast("Any", lexers).get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return escape(code)
    colored: str = highlight(code, lexer, cast("Any", HtmlFormatter)(nowrap=True))
    return colored


def _style() -> str:
    own = files("agent_chat.sessions").joinpath("export.css").read_text(encoding="utf-8")
    light = f"@media (prefers-color-scheme: light), print {{\n{_code_style('default')}}}\n"
    dark = f"@media screen and (prefers-color-scheme: dark) {{\n{_code_style('github-dark')}}}\n"
    return own + light + dark


def _code_style(name: str) -> str:
    """The colors of code, without what else the style wants of the page."""
    from pygments.formatters import HtmlFormatter

    defined: str = cast("Any", HtmlFormatter)(style=name).get_style_defs("pre")
    return "".join(f"{line}\n" for line in defined.splitlines() if line.startswith("pre ."))
