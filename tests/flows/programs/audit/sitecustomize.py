"""Imported by every Python program on whose path it stands: writes down whom it talks to."""

import os
import sys
from typing import Any


def listen(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("socket.connect", "socket.sendto"):
        address = arguments[1]
    elif event == "socket.getaddrinfo":
        address = arguments
    else:
        return
    if isinstance(address, str | bytes):  # other kinds of sockets do not leave the machine
        return
    host = address[0]
    with open(os.environ["CONNECTIONS_LOG"], "a") as log:
        log.write(f"{host.decode() if isinstance(host, bytes) else host}\n")


open(os.environ["CONNECTIONS_LOG"], "a").close()
sys.addaudithook(listen)
