"""The border of the workspace: which paths file tools may touch, and how files inside are opened."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from agent_chat.tools.errors import ToolError

_KERNEL_FOLDERS = (Path("/proc"), Path("/sys"), Path("/dev"))
"""Never files of a project, even where the workspace is the whole machine; /proc shows the environment."""

_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_WALKS_BY_DESCRIPTOR = os.open in os.supports_dir_fd and bool(_NOFOLLOW and _DIRECTORY)


class OutsideWorkspace(ToolError):
    """The path leads out of the workspace."""

    def __init__(self, path: str, root: Path) -> None:
        super().__init__(f"{path!r} is outside the workspace; file tools stay inside {root}")


class Workspace:
    """A folder, and everything inside it once links are followed.

    Paths are judged by what they resolve to, component by component. Raises `ToolError` where the folder
    cannot be used.
    """

    def __init__(self, root: Path) -> None:
        try:
            self.root = root.resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise ToolError(f"the workspace {str(root)!r} cannot be used: {reason(error)}") from error

    def resolve(self, path: str) -> Path:
        """The real path; it may not exist. Raises `OutsideWorkspace`, or `ToolError` for what is no path."""
        if "\0" in path:
            raise ToolError("a path cannot hold a NUL character")
        given = Path(path.strip() or ".")
        if given.parts and given.parts[0].startswith("~") and not os.path.lexists(self.root / given.parts[0]):
            given = Path(os.path.expanduser(given))
        try:
            resolved = (self.root / given).resolve()
        except (OSError, RuntimeError) as error:
            raise ToolError(f"{path!r} cannot be resolved: {reason(error)}") from error
        if not resolved.is_relative_to(self.root) or self._is_kernels(resolved):
            raise OutsideWorkspace(path, self.root)
        return resolved

    def show(self, path: Path) -> str:
        """A path as the model is shown it: relative to the workspace, with forward slashes."""
        return path.relative_to(self.root).as_posix()

    def open(self, path: Path) -> BinaryIO:
        """Opens a regular file for reading, by a path that `resolve` gave.

        Where the system allows, it is opened from the root down without following any link, so that a
        folder swapped for a link meanwhile leads nowhere. Never blocks on a FIFO or a device. Raises
        `ToolError`, OSError where the system refuses.
        """
        flags = os.O_RDONLY | _NOFOLLOW | _NONBLOCK | _CLOEXEC | _BINARY
        try:
            descriptor = self._open_from_root(path, flags) if _WALKS_BY_DESCRIPTOR else os.open(path, flags)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK):
                raise OutsideWorkspace(self.show(path), self.root) from error
            raise
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ToolError(f"{self.show(path)} is not a regular file")
            return os.fdopen(descriptor, "rb")
        except BaseException:
            os.close(descriptor)
            raise

    @contextmanager
    def folder(self, path: Path, *, create: bool = False) -> Generator[int | None]:
        """A folder, by a path that `resolve` gave, as a descriptor that is opened from the root down without
        following any link; None where the system knows no such descriptors. `create` makes what is missing.
        Raises `OutsideWorkspace` where a link stands on the way, OSError where the system refuses.
        """
        if not _WALKS_BY_DESCRIPTOR:
            if create:
                path.mkdir(parents=True, exist_ok=True)
            yield None
            return
        descriptor = os.open(self.root, os.O_RDONLY | _DIRECTORY | _CLOEXEC)
        try:
            for part in path.relative_to(self.root).parts:
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=descriptor)
                inner = self._enter(part, descriptor, path)
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)

    def _enter(self, part: str, descriptor: int, path: Path) -> int:
        try:
            return os.open(part, os.O_RDONLY | _DIRECTORY | _NOFOLLOW | _CLOEXEC, dir_fd=descriptor)
        except OSError as error:
            # A link is ELOOP, or, as no folder, ENOTDIR.
            is_link = error.errno == errno.ENOTDIR and stat.S_ISLNK(
                os.stat(part, dir_fd=descriptor, follow_symlinks=False).st_mode
            )
            if is_link or error.errno in (errno.ELOOP, errno.EMLINK):
                raise OutsideWorkspace(self.show(path), self.root) from error
            raise

    def _open_from_root(self, path: Path, flags: int) -> int:
        with self.folder(path.parent if path != self.root else path) as folder:
            return os.open(path.name if path != self.root else ".", flags, dir_fd=folder)

    def _is_kernels(self, path: Path) -> bool:
        return any(
            path.is_relative_to(folder) and not self.root.is_relative_to(folder) for folder in _KERNEL_FOLDERS
        )


def reason(error: BaseException) -> str:
    """Why the system refused, without the path, which the caller names."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
