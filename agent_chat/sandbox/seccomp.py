"""A filter of system calls: which kinds of sockets there are, and no way around it.

Landlock knows TCP only; a network namespace does not know the sockets between a virtual machine and its host.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16

LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
X32 = 0x40000000

IO_URING_SETUP = 425
"""A ring makes sockets without the system call that is filtered."""

PR_SET_SECCOMP, MODE_FILTER = 22, 2


class _Machine:
    def __init__(self, audit: int, socket: int, keys: tuple[int, ...], x32: bool = False) -> None:
        self.audit, self.socket, self.keys, self.x32 = audit, socket, keys, x32
        """`keys`: the calls that reach the kernel's keyrings, which are the user's and not the sandbox's."""


MACHINES = {
    "x86_64": _Machine(0xC000003E, 41, (248, 249, 250), x32=True),
    "aarch64": _Machine(0xC00000B7, 198, (217, 218, 219)),
    "riscv64": _Machine(0xC00000F3, 198, (217, 218, 219)),
}


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def socket_filter(families: tuple[int, ...]) -> bytes | None:
    """The program that lets only sockets of these families be made; None on a machine that we do not know."""
    machine = MACHINES.get(os.uname().machine)
    if machine is None or struct.calcsize("P") != 8:
        return None
    allow, no_ring, refuse = "allow", "no_ring", "refuse"
    code: list[tuple[int, int, str | None, str | None]] = [
        (LOAD, ARCHITECTURE, None, None),
        (EQUAL, machine.audit, None, refuse),
        (LOAD, NUMBER, None, None),
    ]
    if machine.x32:
        code.append((AT_LEAST, X32, refuse, None))
    code.append((EQUAL, IO_URING_SETUP, no_ring, None))
    code += [(EQUAL, number, refuse, None) for number in machine.keys]
    code.append((EQUAL, machine.socket, None, allow))
    code.append((LOAD, FIRST_ARGUMENT, None, None))
    code += [(EQUAL, family, allow, None) for family in families]
    labels = {refuse: len(code), no_ring: len(code) + 1, allow: len(code) + 2}
    returns = (FAIL | errno.EACCES, FAIL | errno.ENOSYS, ALLOW)
    jumps = [
        (kind, 0 if yes is None else labels[yes] - at - 1, 0 if no is None else labels[no] - at - 1, value)
        for at, (kind, value, yes, no) in enumerate(code)
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in (*jumps, *((RETURN, 0, 0, v) for v in returns)))


def allow_all() -> bytes:
    """A program that filters nothing, for machines that we do not know."""
    return struct.pack("=HBBI", RETURN, 0, 0, ALLOW)


def install(program: bytes) -> None:
    """Filters this process, and what it will start, for good; needs `no_new_privs`. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    described = _Program(len(program) // 8, program)
    if libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(described), 0, 0):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
