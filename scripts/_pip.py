"""Installs with pip: the locked packages, each wheel checked against its hash, then the project itself."""

import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import IO

from _progress import SetupError, Step, step

_LOCKED = re.compile(r"^[A-Za-z0-9][^\s=]*==", re.MULTILINE)
_CHANGES_BEGIN = "Installing collected packages"
_TAIL = 12  # lines of pip's output shown after a failure

_NETWORK = (
    "NewConnectionError",
    "NameResolutionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "ProxyError",
    "Could not fetch URL",
    "Temporary failure in name resolution",
    "Network is unreachable",
)


class NothingChangedError(SetupError):
    """pip gave up before it touched the environment: what was installed before still works."""


def install_lock(python: Path, lock: Path, environ: dict[str, str], mutex: IO[str]) -> None:
    """Installs all that `lock` names: wheels only, so that nothing of theirs runs during the installation.

    Raises SetupError, and NothingChangedError when the environment is as it was.
    """
    count = len(_LOCKED.findall(lock.read_text("utf-8")))
    arguments = ["--require-hashes", "--only-binary", ":all:", "-r", str(lock)]
    _install(python, f"installing {count} packages of {lock.name}", arguments, lock, environ, mutex)


def install_project(python: Path, root: Path, environ: dict[str, str], mutex: IO[str]) -> None:
    """Installs the project so that it runs from its sources, with the locked build backend and no index."""
    arguments = ["--no-index", "--no-deps", "--no-build-isolation", "--editable", str(root)]
    _install(python, "installing agent-chat itself", arguments, root, environ, mutex)


def run(command: list[str], environ: dict[str, str], mutex: IO[str], progress: Step) -> tuple[list[str], int]:
    """Runs an installer to its end; gives its lines and its exit code. It shares the held `mutex`."""
    shared = () if sys.platform == "win32" else (mutex.fileno(),)
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environ,
        encoding="utf-8",
        errors="replace",
        pass_fds=shared,
    )
    lines: list[str] = []
    with process:
        try:
            for line in process.stdout or ():
                lines.append(line.rstrip())
                progress.detail(_short(" ".join(line.split()[:2]), 60))
        except BaseException:
            process.terminate()
            raise
    return lines, process.returncode


def explain(output: str, source: Path) -> str:
    """What pip's failure means and what to do about it."""
    if "DO NOT MATCH THE HASHES" in output:
        return (
            f"A package is not the one that {source.name} was written for: it was replaced since, or changed"
            " on the way here. It was not installed. Try another network or index; if it stays, report it."
        )
    if "No space left on device" in output:
        return "The disk is full (about 600 MB are needed). Make room and start this again."
    if any(mark in output for mark in _NETWORK):
        return (
            "The package index cannot be reached. Check the connection (behind a proxy: HTTPS_PROXY; for an"
            " index of your own: PIP_INDEX_URL) and start this again; what has been downloaded is kept."
        )
    if "No matching distribution found" in output:
        return (
            f"The index has no wheel of it for {platform.system()} {platform.machine()} and this Python."
            " Start this with another Python (3.11 to 3.14), for example: python3.12 scripts/run"
        )
    return "pip failed. Its last lines are above; start this again once the cause is removed."


def _install(
    python: Path, what: str, arguments: list[str], source: Path, environ: dict[str, str], mutex: IO[str]
) -> None:
    options = ["--no-input", "--disable-pip-version-check", "--no-color", "--progress-bar", "off"]
    command = [str(python), "-I", "-m", "pip", "install", *options, *arguments]
    with step(what) as progress:
        output, code = run(command, environ, mutex, progress)
        if code != 0:
            tail = "\n".join(_short(line, 240) for line in output[-_TAIL:])
            reason = explain("\n".join(output), source)
            begun = any(line.startswith(_CHANGES_BEGIN) for line in output)
            failure = SetupError if begun else NothingChangedError
            raise failure(f"{what} failed. pip says:\n{tail}\n{reason}")


def _short(line: str, width: int) -> str:
    """The beginning of an installer's line, without anything that would move the cursor."""
    return "".join(character for character in line.rstrip() if character.isprintable())[:width]
