"""What this machine has: memory, disk and cores, as far as it tells."""

import os
import shutil
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


def gib(size: int) -> str:
    """A size in bytes for people: `1.0 GiB`, or `94 MiB` below that."""
    return f"{size / 1024**3:.1f} GiB" if size >= 1024**3 else f"{size / 1024**2:.0f} MiB"


def usable_cores(cgroup: Path = _CGROUP) -> int:
    """Cores that this process may use, at least 1: its affinity, or less under a container's quota."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    try:
        quota, period = (cgroup / "cpu.max").read_text().split()
        cores = min(cores, int(quota) // int(period))
    except (OSError, ValueError, ZeroDivisionError):  # no limit is the word "max"
        pass
    return max(1, cores)


def available_memory(meminfo: Path = Path("/proc/meminfo"), cgroup: Path = _CGROUP) -> int | None:
    """RAM that can be used now, in bytes: what the kernel calls available, or less under a container's limit.

    None where the system does not tell (not Linux).
    """
    found = [value for value in (_kernel_available(meminfo), _cgroup_available(cgroup)) if value is not None]
    return min(found, default=None)


def available_disk(folder: Path) -> int | None:
    """Free bytes on the file system that holds `folder` (or its nearest existing parent); None if unknown."""
    for place in (folder, *folder.parents):
        try:
            return shutil.disk_usage(place).free
        except FileNotFoundError:
            continue
        except OSError:
            return None
    return None


def _kernel_available(meminfo: Path) -> int | None:
    try:
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _cgroup_available(cgroup: Path) -> int | None:
    try:
        limit = int((cgroup / "memory.max").read_text())
        return max(0, limit - int((cgroup / "memory.current").read_text()))
    except (OSError, ValueError):  # no limit is the word "max"
        return None
