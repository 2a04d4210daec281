"""A web server for the tools that fetch and search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from support.http_server import HttpServer, Request, Response
from support.web import Serve


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(handler: Callable[[Request], Response]) -> HttpServer:
            server = HttpServer(handler)
            server.start()
            stack.callback(server.stop)
            return server

        yield start
