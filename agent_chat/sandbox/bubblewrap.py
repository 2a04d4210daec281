"""Confinement by bubblewrap: a mount namespace in which only what the profile allows is there.

A process namespace of its own ends with the program, so that nothing that it started is left. Root keeps its
user id, without the powers that would undo the mounts; others get a user namespace of their own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from agent_chat.sandbox.limits import script
from agent_chat.sandbox.profile import Profile
from agent_chat.sandbox.seccomp import AF_INET, AF_INET6, AF_NETLINK, AF_UNIX, allow_all, call_filter

PROBE_SECONDS = 10.0

BASE = ("--die-with-parent", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try")
KERNEL = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi")
"""In /proc: settings of the whole machine, which root may write by its user id alone."""
EVERYTHING = (
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
    *(word for name in KERNEL for word in ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")),
)
"""To be read, with devices and processes of its own."""
FILE_CAPABILITIES = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID")
"""What root keeps: files of the workspace may belong to others."""

SOCKETS = (AF_UNIX, AF_INET, AF_INET6, AF_NETLINK)
"""Kinds that its namespaces hold; not those between a virtual machine and its host, for instance."""
FILTER_DESCRIPTOR = "8"

SUPERVISE = """\
trap : TERM INT HUP
exec 9>&0 7>&2 </dev/null 2>/dev/null
(exec "$@" 2>&7 7>&- 9>&-)
code=$?
left() {
    found=
    for entry in /proc/[0-9]*; do
        pid=${entry#/proc/}
        if [ "$pid" = 1 ] || [ "$pid" = $$ ]; then continue; fi
        read -r name <"$entry/comm" || continue
        found=1
        if [ -n "${1-}" ]; then echo "$name" >&9; fi
    done
    [ -n "$found" ]
}
if left report; then
    kill -TERM -1
    for _ in 1 2 3 4 5; do
        left || break
        sleep 0.1 9>&-
    done
    kill -KILL -1
    while left; do sleep 0.02 9>&-; done
fi
exit $code
"""
"""Runs a program as the first of a process namespace; when it ends, reports what is left in there by name,
on what came as its standard input, and ends it."""


def is_installed() -> bool:
    return shutil.which("bwrap") is not None


@cache
def available() -> tuple[str, ...] | None:
    """The command, with the options for the user that work here; None where bubblewrap cannot be used."""
    found = shutil.which("bwrap")
    if found is None:
        return None
    return next((prefix for prefix in _prefixes(found) if _works(prefix)), None)


def wrap(argv: Sequence[str], profile: Profile, cwd: Path, *, supervised: bool) -> tuple[str, ...]:
    """The command line that runs a program confined.

    `supervised`: its standard input is /dev/null, and what comes as standard input takes the report of what
    was left behind. Raises RuntimeError where bubblewrap cannot be used.
    """
    prefix = available()
    if prefix is None:
        raise RuntimeError("bubblewrap cannot be used here")
    shell = script(profile.limits) + (SUPERVISE if supervised else 'exec "$@"\n')
    return (
        *_filtered(profile),
        *prefix,
        *(() if profile.temporary is None else ("--seccomp", FILTER_DESCRIPTOR)),
        *(() if profile.network else ("--unshare-net",)),
        *_mounts(profile),
        "--chdir",
        str(cwd),
        "--",
        "/bin/sh",
        "-c",
        shell,
        "sh",
        *argv,
    )


def _filtered(profile: Profile) -> tuple[str, ...]:
    """A shell that opens the filter of system calls and becomes bubblewrap, which reads it."""
    if profile.temporary is None:
        return ()
    file = profile.temporary / "filter"
    if not file.exists():
        file.write_bytes(call_filter(SOCKETS) or allow_all())
    return ("/bin/sh", "-c", f'exec {FILTER_DESCRIPTOR}<"$1"; shift; exec "$@"', "sh", str(file))


def _prefixes(found: str) -> Iterator[tuple[str, ...]]:
    if os.geteuid() == 0:
        kept = [word for name in FILE_CAPABILITIES for word in ("--cap-add", name)]
        yield (found, *BASE, "--cap-drop", "ALL", *kept)
    else:
        yield (found, *BASE, "--unshare-user", "--disable-userns")
        yield (found, *BASE, "--unshare-user")


def _works(prefix: tuple[str, ...]) -> bool:
    probe = (*prefix, "--unshare-net", *EVERYTHING, "--", "true")
    try:
        done = subprocess.run(probe, capture_output=True, check=False, timeout=PROBE_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _mounts(profile: Profile) -> Iterator[str]:
    yield from EVERYTHING
    emptied: list[str] = []
    for path, access in profile.rules().items():
        name = str(path)
        match access:
            case "read":
                yield from ("--ro-bind-try", name, name)
            case "write":
                yield from ("--bind", name, name)
            case "hide" if path.is_dir():
                emptied.append(name)
                yield from ("--tmpfs", name)
            case "hide":
                yield from ("--ro-bind", "/dev/null", name)
            case "private":
                temporary = profile.temporary
                yield from (
                    ("--tmpfs", name)
                    if temporary is None
                    else ("--bind", str(stand_in(temporary, path)), name)
                )
    yield from _protected(profile)
    for name in emptied:
        yield from ("--remount-ro", name)


def stand_in(temporary: Path, path: Path) -> Path:
    """The folder of the session that stands for a private one; made when first needed."""
    folder = temporary / path.as_posix().strip("/").replace("/", "-")
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _protected(profile: Profile) -> Iterator[str]:
    """A folder that holds a protected one is mounted as well: what is mounted cannot be moved away."""
    pinned: set[Path] = set()
    for path in profile.protected_paths():
        resolved = path.resolve()
        if not (resolved.exists() and resolved.is_relative_to(profile.workspace)):
            continue
        above = [parent for parent in resolved.parents if profile.workspace in parent.parents]
        for folder in reversed(above):
            if folder not in pinned:
                pinned.add(folder)
                yield from ("--bind", str(folder), str(folder))
        yield from ("--ro-bind", str(resolved), str(resolved))
