"""Finds a Python that can make the environment.

Readable by Python 3.6 and without dependencies, so that an old Python ends in a sentence and not in a syntax
error: annotations that 3.6 cannot evaluate stand in quotes.
"""

import os
import subprocess
import sys
from typing import NamedTuple

OLDEST = (3, 11)
NAMES = ("python3.14", "python3.13", "python3.12", "python3.11", "python3", "python")

# Version, whether it can make environments, and the interpreter behind a shim or an environment.
_PROBE = (
    "import sys, importlib.util as u;"
    "print(*sys.version_info[:2], int(all(map(u.find_spec, ('venv', 'ensurepip')))),"
    " getattr(sys, '_base_executable', None) or sys.executable)"
)


class NoInterpreterError(Exception):
    """No Python here will do; the message says what to install."""


class Interpreter(NamedTuple):
    path: str
    version: "tuple[int, int]"
    can_make_environments: bool


def probe(command: str) -> "Interpreter | None":
    """What `command` is, found by running it: version managers leave names that fail. None if it does."""
    try:
        output = subprocess.check_output(
            [command, "-I", "-c", _PROBE], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=30
        )
        major, minor, able, path = output.decode().strip().split(" ", 3)
        return Interpreter(path, (int(major), int(minor)), able == "1")
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def find(candidates: "tuple[str, ...] | None" = None) -> Interpreter:
    """The first of `candidates` (the running Python, then names on PATH) that can make the environment.

    Raises NoInterpreterError.
    """
    unable = None
    oldest = ".".join(map(str, OLDEST))
    for command in candidates or (sys.executable, *NAMES):
        found = probe(command)
        if found is None or found.version < OLDEST:
            continue
        if found.can_make_environments:
            return found
        unable = unable or found
    if unable is not None:
        version = ".".join(map(str, unable.version))
        raise NoInterpreterError(
            f"Python {version} ({unable.path}) cannot make environments: its venv module is missing.\n"
            f"Install it (Debian, Ubuntu: apt install python{version}-venv) and start this again."
        )
    running = ".".join(map(str, sys.version_info[:3]))
    raise NoInterpreterError(
        f"Python {oldest} or newer is needed. This is Python {running} ({sys.executable}),\n"
        "and no newer one is on PATH. Install one (https://www.python.org/downloads/; Debian, Ubuntu:\n"
        "apt install python3 python3-venv; macOS: brew install python) and start this again."
    )


def ensure_supported() -> None:
    """Returns if the running Python is new enough; else goes on in one that is, or says what to install."""
    if sys.version_info >= OLDEST:
        return
    try:
        newer = find().path
    except NoInterpreterError as error:
        sys.stderr.write(f"agent-chat: {error}\n")
        sys.exit(2)
    if sys.platform == "win32":
        sys.exit(subprocess.call([newer, *sys.argv]))
    os.execv(newer, [newer, *sys.argv])
