"""MCP servers for tests: entries of `mcpServers`, toolboxes of them, and one over HTTP."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from agent_chat.core.observation import ToolResult
from agent_chat.core.ports import ToolContext
from agent_chat.tools.mcp.config import Origin, parse_servers
from agent_chat.tools.mcp.launch import Surroundings, launch
from agent_chat.tools.mcp.toolbox import McpToolbox

STUB = Path(__file__).with_name("mcp_stub.py")


def stub_entry(
    workspace: Path, *tools: Any, entry: Mapping[str, Any] | None = None, **plan: Any
) -> dict[str, Any]:
    """An entry for the stub. It is copied into the workspace, where a sandbox shows it; `entry` adds keys."""
    script = workspace / STUB.name
    if not script.exists():
        shutil.copy(STUB, script)
    arguments = [str(script), json.dumps({"tools": list(tools), **plan})]
    return {"command": sys.executable, "args": arguments, "sandbox": False, **(entry or {})}


@dataclass
class Servers:
    """A started toolbox, and what was said of its servers."""

    toolbox: McpToolbox
    problems: list[str]
    output: list[str] = field(default_factory=list[str])

    @property
    def names(self) -> list[str]:
        return [spec.name for spec in self.toolbox.specs()]

    async def call(self, name: str, /, **arguments: Any) -> ToolResult:
        tool = self.toolbox.get(name)
        assert tool is not None, name
        context = ToolContext("c1", "s1", "k1", self.output.append)
        return await tool.run(tool.validate(arguments), context)


@asynccontextmanager
async def running(
    workspace: Path,
    entries: Mapping[str, Mapping[str, Any]],
    *,
    environ: Mapping[str, str] | None = None,
    origin: Origin = "user",
    start_timeout: float = 20.0,
    max_characters: int = 50_000,
) -> AsyncGenerator[Servers]:
    """The servers of these entries, ready or failed."""
    environ = dict(os.environ) if environ is None else environ
    parsed = parse_servers(json.dumps({"mcpServers": entries}), "servers.json", origin, environ)
    assert not parsed.mistakes, parsed.mistakes
    problems: list[str] = []
    around = Surroundings(workspace, environ)
    toolbox = McpToolbox(
        [(config, launch(config, around)) for config in parsed.servers],
        start_timeout=start_timeout,
        offers=lambda name: True,
        max_characters=max_characters,
        on_problem=problems.append,
    )
    toolbox.start()
    try:
        await toolbox.started()
        yield Servers(toolbox, problems)
    finally:
        await toolbox.close()


class HttpStub:
    """A server by streamable HTTP, with one tool `greet`; `status` other than 200 refuses everything."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.headers: list[dict[str, str]] = []
        self.methods: list[str] = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                stub.headers.append({key.lower(): value for key, value in self.headers.items()})
                stub.methods.append(request["method"])
                if stub.status != 200:
                    self.reply(stub.status, None)
                elif "id" not in request:
                    self.reply(202, None)
                else:
                    self.reply(200, {"jsonrpc": "2.0", "id": request["id"], "result": _http_result(request)})

            def do_GET(self) -> None:
                self.reply(405, None)

            def do_DELETE(self) -> None:
                stub.methods.append("DELETE")
                self.reply(204, None)

            def reply(self, status: int, body: Any) -> None:
                data = b"" if body is None else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.send_header("Mcp-Session-Id", "s-1")
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/mcp"

    def __enter__(self) -> HttpStub:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _http_result(request: dict[str, Any]) -> dict[str, Any]:
    match request["method"]:
        case "initialize":
            return {
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "greeter", "version": "1"},
            }
        case "tools/list":
            schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
            return {"tools": [{"name": "greet", "description": "Greets.", "inputSchema": schema}]}
        case _:
            name = request["params"]["arguments"]["name"]
            return {"content": [{"type": "text", "text": f"Hello {name}"}]}
