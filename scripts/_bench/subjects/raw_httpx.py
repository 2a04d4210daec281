"""The loop as one writes it by hand with httpx and nothing else; measured as `ours.py` is.

python raw_httpx.py iterations BASE | turns BASE COUNT | chunks BASE COUNT
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import httpx

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "step",
            "description": "Takes a step.",
            "parameters": {
                "type": "object",
                "properties": {"n": {"type": "integer", "description": "Which one."}},
                "required": ["n"],
            },
        },
    }
]
marks: list[float] = []


def step(n: int) -> str:
    marks.append(time.process_time())
    return f"step {n} done"


def ask(client: httpx.Client, url: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """One streamed reply as an assistant message."""
    text, calls = "", list[dict[str, Any]]()
    body = {"model": "gpt-4.1-mini", "stream": True, "messages": messages, "tools": TOOLS}
    with client.stream("POST", url, json=body) as response:
        for line in response.iter_lines():
            if not line.startswith("data: ") or line == "data: [DONE]":
                continue
            choices = json.loads(line[6:])["choices"]
            if not choices:
                continue
            delta = choices[0]["delta"]
            text += delta.get("content") or ""
            for call in delta.get("tool_calls") or ():
                if "id" in call:
                    calls.append(call)
                else:
                    calls[call["index"]]["function"]["arguments"] += call["function"]["arguments"]
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = calls
    return message


def turn(client: httpx.Client, url: str, messages: list[dict[str, Any]]) -> None:
    messages.append({"role": "user", "content": "Go on."})
    while True:
        reply = ask(client, url, messages)
        messages.append(reply)
        if "tool_calls" not in reply:
            return
        for call in reply["tool_calls"]:
            result = step(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


def main() -> None:
    what, base, count = (*sys.argv[1:], "1")[:3]
    url = f"{base}/chat/completions"
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are a helpful assistant."}]
    times: list[float] = []
    rounds = {"iterations": 1, "turns": int(count), "chunks": 2}[what]
    with httpx.Client(headers={"Authorization": "Bearer sk-scripted"}) as client:
        for _ in range(rounds):
            started = time.process_time()
            turn(client, url, messages)
            times.append(time.process_time() - started)
    value: Any = times
    if what == "iterations":
        value = (marks[-1] - marks[0]) / (len(marks) - 1)
    elif what == "chunks":
        value = times[-1] / int(count)
    print(json.dumps({"value": value}))  # noqa: T201


if __name__ == "__main__":
    main()
