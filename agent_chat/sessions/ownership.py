"""One owner a session: a lock that ends with the process that holds it, however that ends."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from agent_chat.core.errors import UserError
from agent_chat.sessions.folder import create_private

STALE_AFTER = 24 * 3600.0
"""Seconds after which the lock file of a process that was killed may be swept away."""
_PATIENCE = 0.2
"""Seconds for which a lock may be held by somebody who only sweeps."""

if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 30  # beyond the text of the file, which others may then still read

    def try_lock(descriptor: int) -> bool:
        """Locks an open file; False where somebody else holds it. OSError where files have no locks."""
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True
else:
    import fcntl

    def try_lock(descriptor: int) -> bool:
        """Locks an open file; False where somebody else holds it. OSError where files have no locks."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class SessionInUse(UserError):
    """Another process owns the session."""

    def __init__(self, session_id: str, pid: int | None) -> None:
        who = f"process {pid}" if pid else "another process"
        super().__init__(
            f"Session {session_id} is open in {who}.",
            hint="Leave it there first, resume another session, or start a new one.",
        )
        self.pid = pid


class Ownership:
    """The right to write to a session, held until `release` or the end of the process."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def acquire(cls, folder: Path, session_id: str, on_problem: Callable[[str], None]) -> Self:
        """Raises SessionInUse. Where files cannot be locked it says so and lets the session go on."""
        path = folder / f"{session_id}.lock"
        try:
            create_private(folder)
            descriptor = _hold(path)
        except OSError as error:
            on_problem(
                f"Session {session_id} cannot be locked ({error.strerror or error}). "
                "Do not open it in a second place at the same time."
            )
            return cls(path, None)
        if descriptor is None:
            raise SessionInUse(session_id, _owner(path))
        _sign(descriptor)
        return cls(path, descriptor)

    def release(self) -> None:
        """Gives the session free. May be called twice; never raises."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            _discard(self._path, descriptor)


def sweep(folder: Path, now: float) -> None:
    """Removes the lock files that killed processes left behind. Never raises. `now`: epoch seconds."""
    try:
        with os.scandir(folder) as found:
            old = [Path(item.path) for item in found if now - item.stat().st_mtime > STALE_AFTER]
        for path in old:
            descriptor = os.open(path, os.O_RDWR)
            if try_lock(descriptor):
                _discard(path, descriptor)
            else:
                os.close(descriptor)
    except OSError:
        return


def _hold(path: Path) -> int | None:
    """The locked file of this path; None where somebody else holds it. Raises OSError."""
    give_up = time.monotonic() + _PATIENCE
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            locked = try_lock(descriptor)
            if locked and _is_at(descriptor, path):
                return descriptor
        except OSError:
            os.close(descriptor)
            raise
        os.close(descriptor)
        if not locked:
            if time.monotonic() >= give_up:
                return None
            time.sleep(0.01)


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the file was not removed between its opening and its locking."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _discard(path: Path, descriptor: int) -> None:
    """Removes a lock file while it is locked, so that nobody can own a file that is gone."""
    try:
        if sys.platform == "win32":
            os.close(descriptor)
            path.unlink(missing_ok=True)
        else:
            path.unlink(missing_ok=True)
            os.close(descriptor)
    except OSError:
        return


def _sign(descriptor: int) -> None:
    """Writes down who holds the lock, for those who are refused."""
    try:
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, str(os.getpid()).encode())
    except OSError:
        return  # a full disk; the lock holds all the same


def _owner(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
