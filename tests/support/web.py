"""Small web servers for the tools that fetch and search."""

from __future__ import annotations

from collections.abc import Callable

from agent_chat.core.approval import NeedsPerson, Verdict
from agent_chat.core.observation import ToolResult
from agent_chat.tools.builtin.web import fetch_tool
from support.http_server import Http, HttpServer, Request, Response
from support.tools import call

Serve = Callable[[Callable[[Request], Response]], HttpServer]
"""Starts a server that is stopped after the test."""


def page(body: bytes | str, content_type: str = "text/html; charset=utf-8", **headers: str) -> Response:
    encoded = body if isinstance(body, bytes) else body.encode()
    return Response([Http(200, {"Content-Type": content_type, **headers}, encoded)])


def redirect(target: str, status: int = 302) -> Response:
    return Response([Http(status, {"Location": target})])


async def fetch(
    server: HttpServer, path: str = "/", judge: Callable[[str], Verdict] | None = None
) -> ToolResult:
    tool = fetch_tool(judge or (lambda url: NeedsPerson()), allow_private=True)
    return await call(tool, url=f"http://127.0.0.1:{server.port}{path}")


def inside(result: ToolResult) -> str:
    """What the page said, without the lines that mark it as data."""
    assert result.ok, result.content
    lines = result.content.split("\n")
    assert lines[0].startswith("[data ")
    assert lines[-1] == f"[end of data {lines[0][6:14]}]"
    return "\n".join(lines[1:-1])
