"""What stands at the other end of the standard streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TextIO

FaceKind = Literal["terminal", "line", "pipe"]
"""`line`: a terminal that takes no escape sequences."""


def face_kind(stdin: TextIO | None, stdout: TextIO | None, environment: Mapping[str, str]) -> FaceKind:
    """A person can be talked to only where both streams are a terminal."""
    if not (_is_terminal(stdin) and _is_terminal(stdout)):
        return "pipe"
    return "line" if takes_no_escapes(environment) else "terminal"


def takes_no_escapes(environment: Mapping[str, str]) -> bool:
    return environment.get("TERM", "") in ("", "dumb", "unknown")


def wants_color(environment: Mapping[str, str], setting: Literal["auto", "always", "never"] = "auto") -> bool:
    """Whether colors are to be used on a terminal. `NO_COLOR` counts when it is set to anything."""
    if setting != "auto":
        return setting == "always"
    return not environment.get("NO_COLOR")


def is_unicode(encoding: str | None) -> bool:
    """Whether more than ASCII can be shown."""
    return (encoding or "").lower().replace("-", "").startswith("utf")


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False
