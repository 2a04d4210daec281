"""The project's own environment: a folder with the locked packages and the project, made once.

Beside the packages the folder holds two files of ours: `agent-chat.lock`, held while somebody changes the
folder, and `agent-chat.stamp`, written last, which says what is installed. A folder with the first and
without the second was interrupted and is made anew.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn

import _interpreter
import _pip
from _progress import SetupError, say, step

ROOT = Path(__file__).resolve().parent.parent
MUTEX = "agent-chat.lock"
STAMP = "agent-chat.stamp"
PROJECT = "pyproject.toml"


@dataclass(frozen=True, slots=True)
class Environment:
    folder: Path

    @property
    def python(self) -> Path:
        return self.command("python")

    def command(self, name: str) -> Path:
        """The program `name` installed in the environment."""
        if sys.platform == "win32":
            return self.folder / "Scripts" / f"{name}.exe"
        return self.folder / "bin" / name


def prepare(*locks: str) -> Environment:
    """The environment with `locks` and the project installed.

    `locks` are names in requirements/, the last of which contains the others. Raises SetupError.
    """
    environment = Environment(Path(os.environ.get("AGENT_CHAT_VENV") or ROOT / ".venv").absolute())
    wanted = _wanted(environment, locks)
    if _is_ready(environment, wanted):
        return environment
    with _exclusive(environment.folder) as mutex:
        if not _is_ready(environment, wanted):  # else somebody made it while we waited
            _make(environment, locks[-1], wanted, mutex)
    return environment


def child_environment() -> dict[str, str]:
    """This process's variables without those that misplace packages or make every start compile anew."""
    unwanted = {"PYTHONDONTWRITEBYTECODE", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT"}
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    return kept | {"PIP_USER": "0"}


def become(program: Path, arguments: list[str]) -> NoReturn:
    """Goes on as `program`: terminal, pipes, signals and exit code are its own."""
    command = [str(program), *arguments]
    if sys.platform == "win32":  # where replacing a process returns to the shell at once
        sys.exit(subprocess.call(command, env=child_environment()))
    sys.stderr.flush()
    os.execve(program, command, child_environment())


def _wanted(environment: Environment, locks: tuple[str, ...]) -> frozenset[str]:
    """The lines that the stamp must have. Scripts hold absolute paths, so a moved clone is made anew."""
    files = [PROJECT, *(f"requirements/{lock}" for lock in locks)]
    hashes = (f"{name} {hashlib.sha256((ROOT / name).read_bytes()).hexdigest()}" for name in files)
    return frozenset([f"clone {ROOT}", f"folder {environment.folder}", *hashes])


def _stamped(environment: Environment) -> frozenset[str]:
    try:
        return frozenset((environment.folder / STAMP).read_text("utf-8").splitlines())
    except (OSError, ValueError):
        return frozenset()


def _is_ready(environment: Environment, wanted: frozenset[str]) -> bool:
    stamped = _stamped(environment)
    return wanted <= stamped and _version_line(environment) in stamped


def _version_line(environment: Environment) -> str:
    """Asked of the interpreter itself: one that was upgraded or removed leaves the folder useless."""
    found = _interpreter.probe(str(environment.python))
    return "python {}.{}".format(*found.version) if found else "no python"


def _make(environment: Environment, lock: str, wanted: frozenset[str], mutex: IO[str]) -> None:
    stamped = _stamped(environment)
    (environment.folder / STAMP).unlink(missing_ok=True)
    packages = frozenset(line for line in wanted if not line.startswith(PROJECT))
    places = frozenset(line for line in packages if line.startswith(("clone ", "folder ")))
    if not (places <= stamped and _version_line(environment) in stamped):
        _clear(environment.folder)
        _create(environment, mutex)
        stamped = places | {_version_line(environment)}
    if not packages <= stamped:
        try:
            _pip.install_lock(environment.python, ROOT / "requirements" / lock, child_environment(), mutex)
        except _pip.NothingChangedError:
            _write_stamp(environment, stamped)
            raise
        stamped = packages | {_version_line(environment)}
    stamped = frozenset(line for line in stamped if not line.startswith(PROJECT))
    _write_stamp(environment, stamped)  # so that what fails from here on does not cost the packages
    _pip.install_project(environment.python, ROOT, child_environment(), mutex)
    _write_stamp(environment, stamped | wanted)


def _write_stamp(environment: Environment, lines: frozenset[str]) -> None:
    unfinished = environment.folder / f"{STAMP}.part"
    unfinished.write_text("\n".join(sorted(lines)) + "\n", "utf-8")
    unfinished.replace(environment.folder / STAMP)


def _create(environment: Environment, mutex: IO[str]) -> None:
    try:
        found = _interpreter.find()
    except _interpreter.NoInterpreterError as error:
        raise SetupError(str(error)) from None
    version = ".".join(map(str, found.version))
    with step(f"making {environment.folder} with Python {version}") as progress:
        command = [found.path, "-I", "-m", "venv", str(environment.folder)]
        output, code = _pip.run(command, child_environment(), mutex, progress)
        if code != 0:
            raise SetupError(
                "\n".join(output[-10:])
                + f"\nPython {version} ({found.path}) could not make {environment.folder}."
            )


def _clear(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.name == MUTEX:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


@contextmanager
def _exclusive(folder: Path) -> Generator[IO[str]]:
    """Holds the folder against other starts, and gives the held file. Raises SetupError.

    The lock is the kernel's, so a dead owner does not keep it; the installer we start shares the file, so one
    that outlives us does.
    """
    path = folder / MUTEX
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()) and not path.exists():  # in this order: another start makes the file first
            raise SetupError(
                f"{folder} exists and was not made by this script, so it is left alone.\n"
                "Move it away, or set AGENT_CHAT_VENV to another folder, and start this again."
            )
        mutex = path.open("a", encoding="utf-8")
    except OSError as error:
        raise SetupError(
            f"{folder} cannot be written: {error.strerror}.\n"
            "Set AGENT_CHAT_VENV to a folder that can be (it need not exist) and start this again."
        ) from None
    with mutex:
        if not _try_lock(mutex):
            with step(f"waiting for another start that prepares {folder}"):
                _wait_for_lock(mutex)
        yield mutex


if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: IO[str]) -> bool:
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _wait_for_lock(file: IO[str]) -> None:
        while True:
            try:
                return msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)  # gives up after ten seconds
            except OSError:
                continue

else:
    import fcntl

    def _try_lock(file: IO[str]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _wait_for_lock(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)


@contextmanager
def reporting() -> Generator[None]:
    """Ends the process with a message, never a traceback, when the set-up fails or is interrupted."""
    try:
        yield
    except SetupError as error:
        say(str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        say("interrupted; the next start does what is missing")
        sys.exit(130)
