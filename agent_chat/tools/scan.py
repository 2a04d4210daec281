"""A search for machines without ripgrep: `python -m agent_chat.tools.scan`, the same lines in the same order.

A program of its own, so that a pattern that takes for ever can be ended. Its one argument is JSON:
`root`, `start` (a path in it), `query`, `regex`, `glob`. Prints `PATH NUL NUMBER:TEXT` for each line found;
exits with 0 when there was one, 1 when there was none, 2 when the pattern is not one.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from agent_chat.tools.walk import matcher, walk

MAX_SHOWN = 400
"""Bytes of a line that are printed."""
MAX_SECONDS = 60
"""Processor time."""
OMITTED = b" [... omitted end of long line]"
_PIECE = 1024 * 1024
"""Bytes of a line that are looked at together."""
_SNIFFED = 8 * 1024
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)

Finds = Callable[[bytes], object]


def main() -> int:
    _end_in_time()
    asked = json.loads(sys.argv[1])
    try:
        finds = finder(asked["query"], regex=asked["regex"])
    except re.error as error:
        sys.stderr.write(f"regex parse error: {error}\n")
        return 2
    root = Path(asked["root"])
    found = False
    for path in _files(root, root / asked["start"], asked["glob"]):
        for number, line in _matches(root / path, finds):
            found = True
            shown = line if len(line) <= MAX_SHOWN else line[:MAX_SHOWN] + OMITTED
            sys.stdout.buffer.write(os.fsencode(path) + b"\0%d:%s\n" % (number, shown))
        sys.stdout.buffer.flush()
    return 0 if found else 1


def _end_in_time() -> None:
    """Whoever started this ends it when its time is up, unless it was killed itself."""
    try:
        from resource import RLIMIT_CPU, setrlimit
    except ImportError:  # Windows
        return
    setrlimit(RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS))


def finder(query: str, *, regex: bool) -> Finds:
    """Case matters only where the query has a capital letter. Raises re.error."""
    letters = re.sub(r"\\.", "", query) if regex else query
    flags = 0 if any(letter.isupper() for letter in letters) else re.IGNORECASE
    pattern = re.compile(query if regex else re.escape(query), flags)
    return lambda line: pattern.search(line.decode("utf-8", "replace"))


def _files(root: Path, start: Path, glob: str | None) -> Iterator[str]:
    if not start.is_dir():
        yield start.relative_to(root).as_posix()
        return
    wanted = matcher(glob) if glob else None
    for entry in walk(root, start):
        if not entry.folder and not entry.link and (wanted is None or wanted(entry.path)):
            yield entry.path


def _matches(path: Path, finds: Finds) -> Iterator[tuple[int, bytes]]:
    try:
        with _open(path) as file:
            if b"\0" in file.peek(_SNIFFED)[:_SNIFFED]:  # type: ignore[attr-defined]
                return
            number = 1
            while line := file.readline(_PIECE):
                if finds(line):
                    yield number, line.rstrip(b"\r\n")
                number += line.endswith(b"\n")
    except OSError:
        return


def _open(path: Path) -> BinaryIO:
    descriptor = os.open(path, os.O_RDONLY | _NOFOLLOW | _NONBLOCK | _BINARY)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("not a regular file")
    return os.fdopen(descriptor, "rb")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        os._exit(0)
