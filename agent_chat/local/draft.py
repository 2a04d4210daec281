"""Text of a small model that may turn out to be a tool call, told from text that is meant to be read."""

import re

# A start that has gone on for this long without becoming a call is text: a JSON answer, a code block.
_LONGEST_START = 80


class Draft:
    """The text of one reply as it streams, where the tools `offered` may be called.

    A small model writes a call as a JSON object, sometimes in a code fence, sometimes after a sentence. From
    the start of a line that may become one, text is held back until that is known.
    """

    def __init__(self, offered: frozenset[str]) -> None:
        self._call = _call_of(offered) if offered else None
        self._held = ""
        self._line_start = True
        self.told = False
        """Whether anything but blanks has been given out."""

    def feed(self, text: str) -> str:
        """Take more text; give what can be shown now."""
        if self._call is None:
            return self._tell(text)
        pending, self._held = self._held + text, ""
        start = self._start(pending)
        if start is None or (len(pending) - start > _LONGEST_START and not self._call.match(pending, start)):
            return self._tell(pending)
        self._held = pending[start:]
        return self._tell(pending[:start])

    @property
    def is_call(self) -> bool:
        """Whether what is held back is the beginning of a call to an offered tool."""
        return self._call is not None and self._call.match(self._held) is not None

    def rest(self) -> str:
        """What is still held back when the reply ends as text."""
        rest, self._held = self._held, ""
        return self._tell(rest)

    def _start(self, text: str) -> int | None:
        """Where in `text` the last line that may become a call begins."""
        begins = 0 if self._line_start else None
        for match in _CANDIDATE.finditer(text):
            if match.start() > 0 or begins == 0:
                return match.start()
        return None

    def _tell(self, text: str) -> str:
        if text:
            self.told = self.told or bool(text.strip())
            self._line_start = text.endswith("\n")
        return text


# Blanks at the end of what has arrived, a fence, or a brace: each at the start of a line.
_CANDIDATE = re.compile(r"^[ \t]*(?:`{1,3}|\[?\s*\{|\[?\s*\Z)", re.MULTILINE)


def _call_of(names: frozenset[str]) -> re.Pattern[str]:
    alternatives = "|".join(re.escape(name) for name in sorted(names))
    return re.compile(rf'\s*(?:```\w*\s*)?\[?\s*\{{\s*"name"\s*:\s*"(?:{alternatives})"')
