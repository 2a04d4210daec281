"""An MCP server as bad as one likes: JSON-RPC on standard input and output, by hand.

`python mcp_stub.py '{"tools": [...], ...}'`: each tool is a name or {"name", "does", …}; what a tool `does`
is a function `call_…` below. Other keys: `start` (a function `start_…`), `seen` (a file to which every
message received is appended), `stubborn` (goes on after SIGTERM and the end of its input).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

PLAN: dict[str, Any] = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def note(method: str, **params: Any) -> None:
    send({"method": method, "params": params})


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}], **more}


def start_silent() -> None:
    time.sleep(600)


def start_exit() -> None:
    sys.stderr.write("starting\nneed TOKEN\n")
    sys.exit(1)


def start_noisy() -> None:
    sys.stderr.write("\x1b[31mhello from the server\x1b[0m\n" * 3)
    sys.stderr.flush()
    sys.stdout.write("Listening on stdio…\n{not json\n")
    sys.stdout.flush()


def start_noise_only() -> None:
    sys.stdout.write("usage: server [--stdio]\n")
    sys.stdout.flush()
    time.sleep(600)


def call_echo(arguments: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    return text(
        f"{PLAN.get('name', 'stub')}:{request['params']['name']}:{json.dumps(arguments, sort_keys=True)}"
    )


def call_die(arguments: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def call_hang(arguments: dict[str, Any], request: dict[str, Any]) -> None:
    return None


def call_env(arguments: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    return text("\n".join(f"{name}={value}" for name, value in os.environ.items()))


def call_progress(arguments: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    token = request["params"]["_meta"]["progressToken"]
    note("notifications/progress", progressToken=token, progress=1, total=2, message="half\x1b[2J way")
    return text("done")


def call_huge(arguments: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    return text("x" * (9 * 1024 * 1024))


def call_flood(arguments: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    sys.stderr.write("y" * 5_000_000 + "\n")
    sys.stdout.write("noise\n" * 100_000)
    return text("after the flood")


def call_mixed(arguments: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    content = [
        {"type": "text", "text": "first"},
        {"type": "image", "data": "AAAAAAAA", "mimeType": "image/png"},
        {
            "type": "resource",
            "resource": {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "inside"},
        },
        {"type": "resource_link", "uri": "file:///b.txt", "name": "b"},
    ]
    return {"content": content, "structuredContent": {"n": 1}}


def call_structured(arguments: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": '{"n": 1}'}], "structuredContent": {"n": 1}}


def call_error(arguments: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    return text("no such city", isError=True)


def call_wrong(arguments: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    return {"content": "not a list"}


def call_change(arguments: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    PLAN["tools"].append("added")
    note("notifications/tools/list_changed")
    return text("changed")


def described(tool: str | dict[str, Any]) -> dict[str, Any]:
    entry = {"name": tool} if isinstance(tool, str) else {**tool}
    entry.pop("does", None)
    return {"inputSchema": {"type": "object"}, **entry}


def doing(name: str) -> str:
    tools: list[str | dict[str, Any]] = PLAN["tools"]
    for tool in tools:
        if not isinstance(tool, str) and tool["name"] == name:
            return str(tool.get("does", "echo"))
    return "echo"


def answer(request: dict[str, Any]) -> dict[str, Any] | None:
    match request["method"]:
        case "initialize":
            return {
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "stub", "version": "1"},
            }
        case "tools/list":
            return {"tools": [described(tool) for tool in PLAN.get("tools", ())]}
        case "tools/call":
            params = request["params"]
            return globals()[f"call_{doing(params['name'])}"](params.get("arguments") or {}, request)
        case _:
            send({"id": request["id"], "error": {"code": -32601, "message": "Method not found"}})
            return None


def serve() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "seen" in PLAN:
            with open(PLAN["seen"], "a", encoding="utf-8") as file:
                file.write(line)
        if "id" in request and "method" in request:
            result = answer(request)
            if result is not None:
                send({"id": request["id"], "result": result})


if __name__ == "__main__":
    if PLAN.get("stubborn"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "start" in PLAN:
        globals()[f"start_{PLAN['start']}"]()
    serve()
    while PLAN.get("stubborn"):
        time.sleep(60)
