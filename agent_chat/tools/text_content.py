"""A whole text file: bytes to text and back without losing encoding, byte order mark or line ends."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cached_property

from agent_chat.tools.errors import ToolError
from agent_chat.tools.text_file import BinaryContent, Encoding, detect

ENCODING_NAMES = {"cp1252": "Windows-1252", "utf-8": "UTF-8"}


# Without slots: what is counted is counted once.
@dataclass(frozen=True)
class TextContent:
    """`text` has its line ends as they are in the file; `mark` is the byte order mark."""

    text: str
    encoding: Encoding = Encoding("utf-8")
    mark: bytes = b""

    @property
    def encoding_name(self) -> str:
        return ENCODING_NAMES.get(self.encoding.name, self.encoding.name.upper())

    @cached_property
    def unix(self) -> str:
        """The text with line feeds alone: as a model sees and writes it."""
        return self.text.replace("\r\n", "\n")

    @property
    def line_end(self) -> str:
        """The line end of most lines."""
        windows = self.text.count("\r\n")
        return "\r\n" if windows * 2 > self.text.count("\n") else "\n"

    def encoded(self) -> bytes:
        """Raises UnicodeEncodeError."""
        return self.mark + self.text.encode(self.encoding.name)

    def with_text(self, text: str) -> TextContent:
        """Another text in the same encoding; its line ends are taken as they are."""
        return replace(self, text=text)

    def spliced(self, spans: list[tuple[int, int]], new: str) -> TextContent:
        """`new` in the place of each span of `unix`, with the line ends of its surroundings."""
        carriage_returns = [
            found.start() - index for index, found in enumerate(re.finditer("\r\n", self.text))
        ]
        pieces: list[str] = []
        position = 0
        for start, end in spans:
            first = start + bisect_left(carriage_returns, start)
            pieces.append(self.text[position:first])
            pieces.append(new.replace("\n", _line_end_at(self.text, first)))
            position = end + bisect_left(carriage_returns, end)
        return self.with_text("".join([*pieces, self.text[position:]]))


def _line_end_at(text: str, position: int) -> str:
    """That of the line at this place, or of the line before where it is the last one and has none."""
    index = text.find("\n", position)
    if index == -1:
        index = text.rfind("\n", 0, position)
    return "\r\n" if index > 0 and text[index - 1] == "\r" else "\n"


def read_text(content: bytes, shown: str) -> TextContent:
    """Raises `BinaryContent`, or `ToolError` where the bytes would not survive the way to text and back."""
    encoding = detect(content, whole=True)
    if encoding is None:
        raise BinaryContent(len(content))
    mark, body = content[: encoding.bom], content[encoding.bom :]
    try:
        text = body.decode(encoding.name)
    except UnicodeDecodeError:
        text = None
    if text is None or text.encode(encoding.name) != body:
        raise ToolError(
            f"{shown} cannot be changed as text: it holds bytes that are neither UTF-8 nor Windows-1252"
        )
    return TextContent(text, encoding, mark)
