"""Who uses the database: many at once, or one alone that replaces it."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

if sys.platform == "win32":

    class Guard:
        """Nothing to do: Windows refuses to replace a file that somebody has open."""

        def __init__(self, path: Path) -> None: ...

        def share(self) -> None: ...

        def take(self, patience: float) -> bool:
            return True

        def close(self) -> None: ...
else:
    import fcntl

    class Guard:
        """A lock beside the database, shared by its users. Where files have no locks it holds nobody back."""

        def __init__(self, path: Path) -> None:
            try:
                self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            except OSError:
                self._descriptor = -1

        def share(self) -> None:
            """Waits for whoever replaces the file."""
            if self._descriptor < 0:
                return
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_SH)
            except OSError:
                return

        def take(self, patience: float) -> bool:
            """Becomes the only user; False where others stay for longer than `patience` seconds."""
            if self._descriptor < 0:
                return True
            give_up = time.monotonic() + patience
            while True:
                try:
                    fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return True
                except BlockingIOError:
                    if time.monotonic() >= give_up:
                        return False
                    time.sleep(0.02)
                except OSError:
                    return True

        def close(self) -> None:
            descriptor, self._descriptor = self._descriptor, -1
            if descriptor >= 0:
                os.close(descriptor)
