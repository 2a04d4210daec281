"""Finished Markdown to lines of ANSI text. Rich breaks the lines and draws the tables; imported on use.

What a model writes is shown, never obeyed: no HTML, no hidden link targets, no entities, no images. A
line break in the source is a line break on the screen.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import box
from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console, JustifyMethod
from rich.style import Style
from rich.table import Table
from rich.text import Text

from agent_chat.ui.paint import Paint

PARSER = (
    MarkdownIt("commonmark", {"html": False})
    .enable(["strikethrough", "table"])
    .disable(["entity", "image", "autolink", "reference", "html_block", "html_inline"])
)
STYLES: dict[str, Style] = {
    "strong": Style(bold=True),
    "em": Style(italic=True),
    "s": Style(strike=True),
    "code": Style(color="cyan"),
    "url": Style(dim=True),
    "h1": Style(bold=True, underline=True),
    "heading": Style(bold=True),
    "mark": Style(dim=True),
}
_JOINED = re.compile("[\u200d\ufe0e\ufe0f]")
"""Terminals disagree on how wide these make a character; in a table the borders depend on it."""


@dataclass(slots=True)
class _Walk:
    """A position in the tokens of a document."""

    tokens: Sequence[Token]
    at: int = 0

    def until(self, closing: str) -> Iterator[Token]:
        """The tokens up to the closing one; whoever takes an opening one walks over its inside."""
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if token.type == closing:
                return
            yield token


class Renderer:
    """Renders for one terminal."""

    def __init__(self, paint: Paint) -> None:
        self._paint = paint
        self._console = Console(
            file=io.StringIO(), force_terminal=True, markup=False, highlight=False, emoji=False, width=80
        )
        self._bullet, self._bar = ("•", "▌") if paint.unicode else ("*", "|")

    def markdown(self, source: str, width: int) -> list[str]:
        """The lines of one or more blocks, none wider than `width` cells."""
        return self._blocks(_Walk(PARSER.parse(source)), "", max(width, 8))

    def mark(self, text: str) -> str:
        return self._ansi(text, STYLES["mark"])

    def code(self, text: str) -> str:
        return self._ansi(text, STYLES["code"])

    def _blocks(self, walk: _Walk, closing: str, width: int) -> list[str]:
        lines: list[str] = []
        for token in walk.until(closing):
            match token.type:
                case "paragraph_open":
                    lines.extend(self._paragraph(walk, "paragraph_close", width))
                case "heading_open":
                    style = STYLES["h1" if token.tag == "h1" else "heading"]
                    lines.extend(self._paragraph(walk, "heading_close", width, style))
                case "bullet_list_open":
                    lines.extend(self._list(walk, "bullet_list_close", width, lambda _: self._bullet))
                case "ordered_list_open":
                    start = int(token.attrs.get("start", 1))
                    lines.extend(
                        self._list(walk, "ordered_list_close", width, lambda at, n=start: f"{n + at}.")
                    )
                case "blockquote_open":
                    inside = self._blocks(walk, "blockquote_close", max(width - 2, 8))
                    bar = self.mark(self._bar)
                    lines.extend(f"{bar} {line}" for line in inside)
                case "fence" | "code_block":
                    lines.extend(self._code(token))
                case "hr":
                    lines.append(self.mark(("─" if self._paint.unicode else "-") * min(width, 40)))
                case "table_open":
                    lines.extend(self._table(walk, width))
                case _:
                    if token.content:
                        lines.extend(token.content.split("\n"))
        return lines

    def _paragraph(self, walk: _Walk, closing: str, width: int, style: Style | None = None) -> list[str]:
        lines: list[str] = []
        for token in walk.until(closing):
            text = inline(token)
            if style is not None:
                text.stylize(style)
            lines.extend(self._wrapped(text, width))
        return lines

    def _list(self, walk: _Walk, closing: str, width: int, marker: Callable[[int], str]) -> list[str]:
        lines: list[str] = []
        for at, _ in enumerate(walk.until(closing)):
            lead = f" {marker(at)} "
            room = cell_len(lead)
            inside = self._blocks(walk, "list_item_close", max(width - room, 8)) or [""]
            lines.append(self.mark(lead) + inside[0])
            lines.extend(" " * room + line for line in inside[1:])
        return lines

    def _code(self, token: Token) -> list[str]:
        code = [self.code(line.expandtabs()) for line in token.content.removesuffix("\n").split("\n")]
        if token.type == "code_block":
            return [f"    {line}" for line in code]
        return [self.mark(f"{token.markup}{token.info}"), *code, self.mark(token.markup)]

    def _table(self, walk: _Walk, width: int) -> list[str]:
        table = Table(box=box.SQUARE if self._paint.unicode else box.ASCII, border_style=STYLES["mark"])
        row: list[Text] = []
        justify: JustifyMethod = "left"
        for token in walk.until("table_close"):
            match token.type:
                case "th_open" | "td_open":
                    justify = _justify(token)
                case "inline":
                    row.append(inline(token, steady=True))
                case "th_close":
                    table.add_column(
                        row.pop(), justify=justify, overflow="fold", header_style=STYLES["strong"]
                    )
                case "tr_close":
                    if row:
                        table.add_row(*row)
                    row = []
                case _:
                    pass
        options = self._console.options.update(width=width)
        segments = self._console.render_lines(table, options, pad=False)
        return ["".join(self._ansi(part.text, part.style) for part in line).rstrip() for line in segments]

    def _wrapped(self, text: Text, width: int) -> list[str]:
        plain = text.plain
        if "\n" not in plain and "\t" not in plain and (len(plain) * 2 <= width or cell_len(plain) <= width):
            return [self._line(text)]
        return [self._line(line) for line in text.wrap(self._console, width, overflow="fold", tab_size=8)]

    def _line(self, text: Text) -> str:
        text.rstrip()
        if not text.spans:
            return text.plain
        segments = text.render(self._console, end="")
        return "".join(self._ansi(segment.text, segment.style) for segment in segments)

    def _ansi(self, text: str, style: Style | None) -> str:
        if style is None or not text:
            return text
        if not self._paint.color:
            style = style.without_color
        return style.render(text, color_system=ColorSystem.STANDARD)


def inline(token: Token, *, steady: bool = False) -> Text:
    """The text of an `inline` token with its styles; the address of a link stands behind it.

    `steady`: without the characters whose width depends on the terminal.
    """
    text = Text()
    open_styles: list[tuple[str, int]] = []
    links: list[tuple[str, int]] = []
    for child in token.children or []:
        content = _JOINED.sub("", child.content) if steady else child.content
        match child.type:
            case "softbreak" | "hardbreak":
                text.append("\n")
            case "code_inline":
                text.append(content, STYLES["code"])
            case "strong_open" | "em_open" | "s_open":
                open_styles.append((child.tag, len(text)))
            case "strong_close" | "em_close" | "s_close":
                tag, start = open_styles.pop()
                text.stylize(STYLES[tag], start)
            case "link_open":
                links.append((str(child.attrs.get("href", "")), len(text)))
            case "link_close":
                address, start = links.pop()
                if address and address != text.plain[start:]:
                    text.append(f" ({address})", STYLES["url"])
            case _:
                text.append(content)
    return text


def _justify(token: Token) -> JustifyMethod:
    style = str(token.attrs.get("style", ""))
    if "right" in style:
        return "right"
    return "center" if "center" in style else "left"
