"""A file as it is at one moment, and its replacement or removal in one step."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agent_chat.tools.errors import ToolError
from agent_chat.tools.seen import MAX_SIZE, digest
from agent_chat.tools.workspace import Workspace, reason

_NEW = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


@dataclass(frozen=True, slots=True)
class FileState:
    content: bytes
    status: os.stat_result

    @property
    def digest(self) -> str:
        return digest(self.content)


def read_state(workspace: Workspace, path: Path) -> FileState | None:
    """A file of the workspace, by its resolved path; None where there is none. Raises `ToolError` for what
    cannot be changed: a folder, a device, a file that is too large or must not be written."""
    shown = workspace.show(path)
    try:
        if path.is_dir():
            raise ToolError(f"{shown} is a folder")
        with workspace.open(path) as file:
            status = os.fstat(file.fileno())
            content = file.read(MAX_SIZE + 1)
    except (FileNotFoundError, NotADirectoryError):
        _check_folders(workspace, path)
        return None
    except OSError as error:
        raise ToolError(f"{shown} cannot be read: {reason(error)}") from error
    if len(content) > MAX_SIZE:
        raise ToolError(
            f"{shown} has {status.st_size:,} bytes; only files of up to {MAX_SIZE // 1024 // 1024} MB are "
            "changed here, because what they held before is kept"
        )
    return FileState(content, status)


def missing_folders(workspace: Workspace, path: Path) -> tuple[str, ...]:
    """The folders that a file needs and that are not there, the outermost first."""
    missing = [
        folder for folder in path.parents if folder.is_relative_to(workspace.root) and not folder.exists()
    ]
    return tuple(workspace.show(folder) for folder in reversed(missing))


def write_file_at(
    workspace: Workspace, path: Path, content: bytes, before: os.stat_result | None, check: Callable[[], None]
) -> None:
    """Puts a file, with its mode, in the place of another one or of none; makes its folders.

    The content is on the disk before the file has its name, so that nobody ever sees half of it. `check` is
    called last before that, and may raise. Raises `ToolError`; then nothing has changed but folders.
    """
    shown = workspace.show(path)
    temporary = f".agent-chat-{os.urandom(6).hex()}.tmp"
    try:
        with workspace.folder(path.parent, create=True) as folder:
            prefix = "" if folder is not None else f"{path.parent}{os.sep}"
            descriptor = os.open(prefix + temporary, _NEW, 0o666, dir_fd=folder)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    if before is not None:
                        _resemble(file.fileno(), before)
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                check()
                os.replace(prefix + temporary, prefix + path.name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(prefix + temporary, dir_fd=folder)
                raise
            if folder is not None:
                with suppress(OSError):  # it is written; that its name is on the disk too is for later
                    os.fsync(folder)
    except OSError as error:
        raise ToolError(f"{shown} cannot be written: {reason(error)}") from error


def remove_file_at(workspace: Workspace, path: Path, folders: tuple[str, ...]) -> None:
    """Removes a file, and those of the folders that are empty then. Raises `ToolError`."""
    try:
        with workspace.folder(path.parent) as folder:
            os.unlink(path if folder is None else path.name, dir_fd=folder)
    except OSError as error:
        raise ToolError(f"{workspace.show(path)} cannot be removed: {reason(error)}") from error
    for name in reversed(folders):
        made = workspace.root / name
        try:
            with workspace.folder(made.parent) as folder:
                os.rmdir(made if folder is None else made.name, dir_fd=folder)
        except (OSError, ToolError):
            return  # something else is in it, or it is gone: either way it is no longer ours


def _resemble(descriptor: int, status: os.stat_result) -> None:
    mine = os.fstat(descriptor)
    if hasattr(os, "fchown") and (mine.st_uid, mine.st_gid) != (status.st_uid, status.st_gid):
        with suppress(OSError):  # only root may give files away
            os.fchown(descriptor, status.st_uid, status.st_gid)
    if hasattr(os, "fchmod"):
        # As when a file is written in place: nobody else's rights come with new content.
        os.fchmod(descriptor, stat.S_IMODE(status.st_mode) & 0o777)


def _check_folders(workspace: Workspace, path: Path) -> None:
    for folder in path.parents:
        if folder.is_relative_to(workspace.root) and folder.exists() and not folder.is_dir():
            raise ToolError(f"{workspace.show(path)} cannot be there: {workspace.show(folder)} is a file")
