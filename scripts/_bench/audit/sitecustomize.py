"""Writes every connection and every name look-up of a Python process to a file; found through PYTHONPATH."""

import os
import sys
from typing import Any

_file = open(os.environ["BENCH_CONNECTIONS"], "a", encoding="utf-8")  # noqa: SIM115


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect":
        _file.write(f"connect {arguments[1]!r}\n")
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        _file.write(f"look-up {arguments[0]!r}\n")
    else:
        return
    _file.flush()


sys.addaudithook(_watch)
