"""A filter of system calls: which kinds of sockets there are, and no namespaces that give power back.

Landlock knows TCP only; a network namespace does not know the sockets between a virtual machine and its host.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
X32 = 0x40000000
CLONE_NEWUSER = 0x10000000

IO_URING_SETUP, CLONE3 = 425, 435
"""A ring makes sockets without the call that is filtered; a filter cannot read what clone3 is given. Programs
do without either where the kernel says that it has none."""

PR_SET_SECCOMP, MODE_FILTER = 22, 2


class _Machine:
    def __init__(
        self, audit: int, *, socket: int, clone: int, unshare: int, keys: tuple[int, ...], x32: bool = False
    ) -> None:
        self.audit, self.socket, self.clone, self.unshare, self.x32 = audit, socket, clone, unshare, x32
        self.keys = keys
        """The calls that reach the kernel's keyrings, which are the user's and not the sandbox's."""


MACHINES = {
    "x86_64": _Machine(0xC000003E, socket=41, clone=56, unshare=272, keys=(248, 249, 250), x32=True),
    "aarch64": _Machine(0xC00000B7, socket=198, clone=220, unshare=97, keys=(217, 218, 219)),
    "riscv64": _Machine(0xC00000F3, socket=198, clone=220, unshare=97, keys=(217, 218, 219)),
}


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def call_filter(families: tuple[int, ...]) -> bytes | None:
    """The program that lets sockets of these families be made, and no user namespaces.

    None on a machine that we do not know.
    """
    machine = MACHINES.get(os.uname().machine)
    if machine is None or struct.calcsize("P") != 8:
        return None
    code: list[tuple[int, int, str, str]] = [
        (LOAD, ARCHITECTURE, "", ""),
        (EQUAL, machine.audit, "", "refuse"),
        (LOAD, NUMBER, "", ""),
    ]
    if machine.x32:
        code.append((AT_LEAST, X32, "refuse", ""))
    code += [(EQUAL, number, "missing", "") for number in (IO_URING_SETUP, CLONE3)]
    code += [(EQUAL, number, "refuse", "") for number in machine.keys]
    code += [(EQUAL, number, "namespaces", "") for number in (machine.clone, machine.unshare)]
    code += [(EQUAL, machine.socket, "", "allow"), (LOAD, FIRST_ARGUMENT, "", "")]
    code += [(EQUAL, family, "allow", "") for family in families]
    ends = {"refuse": FAIL | errno.EPERM, "missing": FAIL | errno.ENOSYS, "allow": ALLOW}
    at = {label: len(code) + place for place, label in enumerate((*ends, "namespaces"))}
    code += [(RETURN, value, "", "") for value in ends.values()]
    # Jumps lead forwards only: what this one needs is repeated behind it.
    code += [(LOAD, FIRST_ARGUMENT, "", ""), (ANY_BIT, CLONE_NEWUSER, "", "allow_namespaces")]
    code += [(RETURN, ends["refuse"], "", ""), (RETURN, ALLOW, "", "")]
    at["allow_namespaces"] = len(code) - 1
    return b"".join(
        struct.pack("=HBBI", kind, at[yes] - here if yes else 0, at[no] - here if no else 0, value)
        for here, (kind, value, yes, no) in enumerate(code, start=1)
    )


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
