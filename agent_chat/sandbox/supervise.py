"""A process that runs a program and ends with all that it started, whatever that does to get away.

Linux gives the orphans of a subreaper back to it, also those of a session of their own. Elsewhere what has
left both the process group and the process tree is not found. Imported by the launcher: the standard library
only, and little of it.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

GRACE = 0.5
"""Seconds that a process which is left has to end by itself."""
POLL = 0.02
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
TOLD_TO_GO = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def supervise(become: Callable[[], None], report: Callable[[str], None], parent: int) -> int:
    """Forks; the child calls `become`, which must not return. Gives the exit code as a shell shows it.

    `report` is told the name of each process that is left when the program ends. When this process is told to
    go, or `parent` is gone, all is killed at once.
    """
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    told: list[int] = []
    for number in TOLD_TO_GO:
        signal.signal(number, lambda number, _: told.append(number))
    signal.signal(signal.SIGCHLD, lambda number, _: None)  # Only wakes us.
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    _adopt_orphans()
    main = os.fork()
    if main == 0:
        signal.set_wakeup_fd(-1)
        for number in (*TOLD_TO_GO, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        _die_with_parent(signal.SIGKILL)
        become()
        os._exit(126)
    status: int | None = None
    while status is None and not told and os.getppid() == parent:
        awake, _, _ = select.select([wake_read], [], [], 1.0)
        if awake:
            os.read(wake_read, 4096)
        status = _reap().get(main)
    if status is None:
        _end(_kill_all)
        return 128 + (told[0] if told else signal.SIGHUP)
    for _, name in (left := _left()):
        report(name)
    if left:
        for pid, _ in left:
            _signal(pid, signal.SIGTERM)
        _end(lambda: None, GRACE)
        _end(_kill_all)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _end(again: Callable[[], None], seconds: float = 5.0) -> None:
    """Until nothing is left, at most so long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        again()
        _reap()
        if not _left():
            return
        time.sleep(POLL)


def _kill_all() -> None:
    for pid, _ in _left():
        _signal(pid, signal.SIGKILL)


def _reap() -> dict[int, int]:
    """The statuses of children that have ended."""
    statuses: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return statuses
        if pid == 0:
            return statuses
        statuses[pid] = status


def _left() -> list[tuple[int, str]]:
    """Descendants that run, and members of our process group: process id and name."""
    processes = _processes()
    us, group = os.getpid(), os.getpgrp()
    found = {us}
    grown = True
    while grown:
        more = {pid for pid, (parent, _, _) in processes.items() if parent in found} - found
        found |= more
        grown = bool(more)
    if group == us:
        found |= {pid for pid, (_, of, _) in processes.items() if of == group}
    return [(pid, processes[pid][2]) for pid in sorted(found - {us}) if pid in processes]


def _processes() -> dict[int, tuple[int, int, str]]:
    """Parent, process group and name of every process that has not ended."""
    return _from_proc() if os.path.exists("/proc/self/stat") else _from_ps()


def _from_proc() -> dict[int, tuple[int, int, str]]:
    processes: dict[int, tuple[int, int, str]] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:
                text = file.read().decode("utf-8", "replace")
        except OSError:
            continue
        name, _, rest = text.partition("(")[2].rpartition(")")
        state, parent, group = rest.split()[:3]
        if state not in "ZX":
            processes[int(entry)] = (int(parent), int(group), name)
    return processes


def _from_ps() -> dict[int, tuple[int, int, str]]:
    import subprocess

    processes: dict[int, tuple[int, int, str]] = {}
    listed = subprocess.Popen(
        ["/bin/ps", "-axo", "pid=,ppid=,pgid=,stat=,comm="], stdout=subprocess.PIPE, text=True
    )
    text, _ = listed.communicate()
    for line in text.splitlines():
        pid, parent, group, state, name = line.split(None, 4)
        if not state.startswith("Z") and int(pid) != listed.pid:
            processes[int(pid)] = (int(parent), int(group), os.path.basename(name))
    return processes


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _adopt_orphans() -> None:
    if sys.platform == "linux":
        _prctl(PR_SET_CHILD_SUBREAPER, 1)


def _die_with_parent(number: int) -> None:
    if sys.platform == "linux":
        _prctl(PR_SET_PDEATHSIG, int(number))


def _prctl(option: int, value: int) -> None:
    import ctypes

    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
