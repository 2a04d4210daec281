"""What a person would read of a page, as Markdown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from agent_chat.tools.text_file import detect
from agent_chat.tools.web.fetching import Page

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

MAX_HTML = 2_000_000
"""Characters of HTML that are read."""
HTML = frozenset(("text/html", "application/xhtml+xml"))

_TEXTUAL = re.compile(r"text/.+|application/(?:.+\+)?(?:json|xml|yaml|javascript|toml|sql|x-ndjson|x-sh)")
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w:-]{2,40})", re.I)
_XML_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")
_LATIN = frozenset(("iso-8859-1", "latin-1", "latin1", "ascii", "us-ascii"))
_UNREAD = (
    "script", "style", "noscript", "template", "svg", "canvas", "iframe", "object", "embed", "video", "audio",
    "nav", "dialog", "button", "input", "select", "textarea", "link", "meta", "head",
)  # fmt: skip
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)


class NotText(Exception):
    """The page is something else than text."""


@dataclass(frozen=True, slots=True)
class Readable:
    title: str
    """One line; empty where there is none."""
    text: str


def readable(page: Page) -> Readable:
    """Raises `NotText`."""
    if not page.content_type or page.content_type == "application/octet-stream":
        if detect(page.body[:65_536], whole=False) is None:
            raise NotText
    elif page.content_type not in HTML and not _TEXTUAL.fullmatch(page.content_type):
        raise NotText
    text = _decoded(page)
    is_html = page.content_type in HTML or (
        not page.content_type and re.match(r"\s*<(?:!doctype html|html)", text, re.I) is not None
    )
    return _from_html(text[:MAX_HTML], page.url) if is_html else Readable("", text)


def _decoded(page: Page) -> str:
    """As the server says, as a byte order mark says, as the page says, as UTF-8, or as Windows-1252."""
    head = detect(page.body[:65_536], whole=False)
    if head is not None and head.bom:
        return page.body[head.bom :].decode(head.name, "replace")
    meta = _META_CHARSET.search(page.body[:4096]) if page.content_type in HTML else None
    for name in (page.charset, meta[1].decode("ascii") if meta else None):
        if name:
            try:
                return page.body.decode("cp1252" if name.lower() in _LATIN else name, "replace")
            except (LookupError, ValueError):
                continue
    try:
        return page.body.decode("utf-8", "replace" if page.cut else "strict")
    except UnicodeDecodeError:
        return page.body.decode("cp1252", "replace")


def _from_html(html: str, url: str) -> Readable:
    from bs4 import BeautifulSoup
    from bs4.exceptions import ParserRejectedMarkup
    from markdownify import MarkdownConverter

    html = _XML_DECLARATION.sub("", html, count=1)
    if "<" not in html:
        return Readable("", html)
    try:
        soup = BeautifulSoup(html, "html.parser")
    except ParserRejectedMarkup:
        return Readable("", html)
    title = " ".join(soup.title.get_text().split()) if soup.title else ""
    _clean(soup, url)
    root = _main(soup)
    converter = MarkdownConverter(
        heading_style="atx", bullets="-", escape_asterisks=False, escape_underscores=False, autolinks=False
    )
    try:
        text = converter.convert_soup(root)
    except RecursionError:  # nested deeper than any page that somebody wrote
        text = root.get_text("\n")
    lines = (line.rstrip() for line in text.splitlines())
    return Readable(title, re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip())


def _clean(soup: BeautifulSoup, url: str) -> None:
    """Takes out what nobody reads, or nobody is meant to see."""
    base = soup.find("base", href=True)
    here = (_joined(url, str(base["href"])) if base else "") or url
    for tag in soup.find_all(_UNREAD):
        tag.decompose()
    for tag in soup.find_all(_is_hidden):
        if not tag.decomposed:
            tag.decompose()
    for image in soup.find_all("img"):
        image.replace_with(str(image.get("alt") or ""))
    for link in soup.find_all("a", href=True):
        target = _joined(here, str(link["href"]))
        if target.startswith(("http://", "https://", "mailto:")):
            link["href"] = target
        else:
            del link["href"]


def _joined(base: str, target: str) -> str:
    try:
        return urljoin(base, target.strip())
    except ValueError:
        return ""


def _is_hidden(tag: Tag) -> bool:
    return (
        tag.has_attr("hidden")
        or tag.get("aria-hidden") == "true"
        or _HIDDEN.search(str(tag.get("style", ""))) is not None
    )


def _main(soup: BeautifulSoup) -> BeautifulSoup | Tag:
    """The part that the page says is its content, where there is one such part."""
    for found in (soup.find_all("main"), soup.select("[role=main]"), soup.find_all("article")):
        if len(found) == 1 and found[0].get_text(strip=True):
            return found[0]
    return soup
