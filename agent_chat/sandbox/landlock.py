"""Confinement by Landlock: the kernel lets a process give up access to all but some folders, for good.

Imported by the launcher in an interpreter without site packages: the standard library only, and little of it.
"""

from __future__ import annotations

import ctypes
import os

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION_FLAG = 1
PATH_BENEATH = 1
PR_SET_NO_NEW_PRIVS = 38

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE = 1 << 4, 1 << 5
MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK = 1 << 6, 1 << 7, 1 << 8, 1 << 9
MAKE_FIFO, MAKE_BLOCK, MAKE_SYM = 1 << 10, 1 << 11, 1 << 12
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_DIR
WRITE = (
    READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_SYM
    | REFER | TRUNCATE
)  # fmt: skip
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV

TCP_BIND_AND_CONNECT = 3
ABSTRACT_SOCKETS_AND_SIGNALS = 3
TRUNCATE_VERSION, NETWORK_VERSION, SCOPE_VERSION = 3, 4, 6

HANDLED = ((1, (1 << 13) - 1), (2, REFER), (TRUNCATE_VERSION, TRUNCATE), (5, IOCTL_DEV))
"""What each version can take away."""

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


class _Ruleset(ctypes.Structure):
    _fields_ = [("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def version() -> int:
    """Of the kernel's Landlock; 0 where there is none."""
    return max(0, _libc().syscall(CREATE_RULESET, None, 0, VERSION_FLAG))


def restrict(rules: list[tuple[str, str]], *, network: bool) -> None:
    """Confines this process, and what it will start, for good.

    `rules`: path and `read`, `write` or `hide`; it holds for all below, but where a rule for a longer path
    says otherwise. What no rule names is readable. Raises OSError.
    """
    libc, abi = _libc(), version()
    handled = sum(bits for since, bits in HANDLED if abi >= since)
    ruleset = _Ruleset(
        handled,
        TCP_BIND_AND_CONNECT if abi >= NETWORK_VERSION and not network else 0,
        ABSTRACT_SOCKETS_AND_SIGNALS if abi >= SCOPE_VERSION else 0,
    )
    size = 24 if abi >= SCOPE_VERSION else 16 if abi >= NETWORK_VERSION else 8
    descriptor = _checked(libc.syscall(CREATE_RULESET, ctypes.byref(ruleset), size, 0))
    try:
        for path, access in _grants(dict(rules)):
            _allow(descriptor, path, (WRITE if access == "write" else READ) & handled)
        for path in DEVICES:
            _allow(descriptor, path, (READ_FILE | WRITE_FILE | TRUNCATE) & handled)
        _checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        _checked(libc.syscall(RESTRICT_SELF, descriptor, 0))
    finally:
        os.close(descriptor)


def _grants(rules: dict[str, str]) -> list[tuple[str, str]]:
    """Rules that only add up, as the kernel's do: a folder with an exception is granted child by child."""
    rules = {"/": "read", **rules}
    grants: list[tuple[str, str]] = []
    waiting = list(rules.items())
    while waiting:
        path, access = waiting.pop()
        if access == "hide":
            continue
        below = path.rstrip("/") + "/"
        excepted = [name for name in rules if name != path and name.startswith(below)]
        if not any(_takes_away(rules[name], access) for name in excepted):
            grants.append((path, access))
            continue
        waiting += [(child, access) for child in _children(path) if child not in rules]
    return grants


def _takes_away(exception: str, access: str) -> bool:
    return exception == "hide" or (exception == "read" and access == "write")


def _children(path: str) -> list[str]:
    """Links are left out: where they lead is granted by its own path, or not."""
    try:
        with os.scandir(path) as entries:
            return [entry.path for entry in entries if not entry.is_symlink()]
    except OSError:
        return []


def _allow(ruleset: int, path: str, access: int) -> None:
    """What is not there, or must not be opened, is not granted."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):
            access &= OF_FILES
        rule = _PathBeneath(access, descriptor)
        _checked(_libc().syscall(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(rule), 0))
    finally:
        os.close(descriptor)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
