"""The launcher: `python -I -S launch.py [options] -- program arguments…` confines itself and runs a program.

    --read PATH, --write PATH, --hide PATH   what holds for a path and all below it
    --network          sockets to other machines may be made
    --unconfined       supervise only
    --supervised       standard input takes the report of what was left behind; the program's is empty
    --parent PID       end when this process is not the parent any more

What is done between fork and exec is done here, in a process with one thread, and not in the program's own.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # Isolated from site packages: from there nothing is imported, nor could it change what we do. Empty
    # packages stand for ours: what those import takes longer than all that is done here.
    folder = os.path.dirname(os.path.abspath(__file__))
    for name, path in (("agent_chat", os.path.dirname(folder)), ("agent_chat.sandbox", folder)):
        package = type(sys)(name)
        package.__path__ = [path]
        sys.modules[name] = package

from agent_chat.sandbox.supervise import supervise

CANNOT_RUN, NOT_FOUND = 126, 127
PR_CAPBSET_DROP = 24
KEPT_CAPABILITIES = (0, 1, 3, 4)
"""Of root: CHOWN, DAC_OVERRIDE, FOWNER, FSETID. Files of the workspace may belong to others."""


def main(words: list[str]) -> int:
    at = words.index("--")
    options, argv = words[:at], words[at + 1 :]
    flags = {word for word in options if word in ("--network", "--unconfined", "--supervised")}
    rules: list[tuple[str, str]] = []
    parent = os.getppid()
    rest = iter(word for word in options if word not in flags)
    for word in rest:
        value = next(rest)
        if word == "--parent":
            parent = int(value)
        else:
            rules.append((value, word.removeprefix("--")))
    report = _take_report() if "--supervised" in flags else None

    def become() -> None:
        try:
            if "--unconfined" not in flags:
                _confine(rules, network="--network" in flags)
        except OSError as error:
            os.write(2, f"the sandbox could not be set up, nothing was run: {error.strerror}\n".encode())
            os._exit(CANNOT_RUN)
        _execute(argv)

    def tell(name: str) -> None:
        if report is not None:
            os.write(report, f"{name}\n".encode())

    return supervise(become, tell, parent)


def _execute(argv: list[str]) -> None:
    """Never returns. Imports nothing: our own libraries may be out of sight by now."""
    name, problem = argv[0], "command not found"
    code = NOT_FOUND
    folders = [""] if "/" in name else os.environ.get("PATH", os.defpath).split(":")
    for folder in folders:
        try:
            os.execv(os.path.join(folder, name), argv)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            code, problem = CANNOT_RUN, error.strerror
    os.write(2, f"{name}: {problem}\n".encode())
    os._exit(code)


def _take_report() -> int:
    report = os.dup(0)
    empty = os.open("/dev/null", os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return report


def _confine(rules: list[tuple[str, str]], *, network: bool) -> None:
    from agent_chat.sandbox import landlock, seccomp

    landlock.restrict(rules, network=network)
    allowed = (seccomp.AF_INET, seccomp.AF_INET6, seccomp.AF_NETLINK) if network else ()
    program = seccomp.call_filter(allowed)
    if program is not None:
        seccomp.install(program)
    if os.geteuid() == 0:
        _drop_capabilities()


def _drop_capabilities() -> None:
    """What root would regain with the next program."""
    import ctypes

    libc = ctypes.CDLL(None)
    capability = 0
    while True:
        if capability not in KEPT_CAPABILITIES and libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
            return
        capability += 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
