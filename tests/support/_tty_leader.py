"""Plays the shell's part in a terminal: leads the session and runs one program in the foreground.

Usage: _tty_leader.py STATUS_FD CONTROL_FD END_MARK ENV_JSON PROGRAM ARG...

Writes the program's process id and later its exit code to STATUS_FD, a line each; in between END_MARK to the
terminal, behind all that the program wrote. Then it holds the terminal until CONTROL_FD closes, as a shell
that goes on, so that a test sees in what state the program left it, not what the end of a session does to it.
A hang-up is passed on to the program, as a shell does.
"""

import fcntl
import json
import os
import signal
import sys
import termios
from contextlib import suppress


def main() -> None:
    status, control, end_mark = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    env: dict[str, str] = json.loads(sys.argv[4])
    args = sys.argv[5:]
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.close(status)
        os.close(control)
        try:
            os.execve(args[0], args, env)
        finally:
            os._exit(127)
    signal.signal(signal.SIGHUP, lambda number, frame: os.killpg(pid, signal.SIGHUP))
    os.write(status, f"{pid}\n".encode())
    _, ended = os.waitpid(pid, 0)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    code = os.waitstatus_to_exitcode(ended)
    with suppress(OSError):  # after a hang-up there is no terminal
        os.tcsetpgrp(0, os.getpgrp())
        os.write(1, end_mark.encode())
    os.write(status, f"{code if code >= 0 else 128 - code}\n".encode())
    os.read(control, 1)


main()
