"""`kill -9` again and again, whatever the program is doing: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import json
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.fixtures import ProviderFactory
from support.flows import log_of
from support.process import Program, clean_env
from support.provider import FIN, REPEAT, TC, Item, Request, T

from agent_chat.core.events import Entry, ToolFinished, ToolStarted

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is of Unix")

TOOL = '''
import os
from agent_chat import tool
from agent_chat.tools.tool import ToolContext

@tool(effect="write")
def append(text: str, context: ToolContext) -> str:
    """Adds a line to a file."""
    with open("effects", "a") as file:
        file.write(context.idempotency_key + "\\n")
        file.flush()
        os.fsync(file.fileno())
    return "added " + text
'''
LONGEST = 0.03
"""Seconds after a sign of life within which the program is killed."""
REQUESTS = 3
"""Of a round that nobody kills."""


def reply(request: Request) -> Sequence[Item]:
    """Two iterations with effects and reads, then an answer."""
    messages = request.body["messages"]
    asked = max(at for at, message in enumerate(messages) if message["role"] == "user")
    done = sum(message["role"] == "assistant" for message in messages[asked:])
    if done == 2:
        return (T("It is "), T("done."), FIN("stop"))
    wanted = [("append", {"text": "a"}), ("calc", {"expression": "1+1"}), ("append", {"text": "b"})]
    made = [TC(at, f"c{at}", name, json.dumps(given)) for at, (name, given) in enumerate(wanted)]
    return (T("Let me see. "), *made, FIN("tool_calls"))


def effects(workspace: Path) -> list[str]:
    path = workspace / "effects"
    return path.read_text().splitlines() if path.exists() else []


def check(entries: Sequence[Entry], before: Sequence[Entry], shown: bytes, workspace: Path) -> None:
    """`before`: the log of the round before; `shown`: what the program printed in this one."""
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert list(entries[: len(before)]) == list(before)
    # What is on the screen is on the disk; the last line may be cut off.
    lines = [json.loads(line) for line in shown.split(b"\n")[:-1]]
    types = {entry.seq: entry.event.type for entry in entries}
    assert all(types[line["seq"]] == line["type"] for line in lines if "seq" in line)
    started = [entry.event for entry in entries if isinstance(entry.event, ToolStarted)]
    keys = Counter(event.idempotency_key for event in started)
    assert max(keys.values(), default=1) == 1
    done = Counter(effects(workspace))
    assert max(done.values(), default=1) == 1, "an effect happened twice"
    assert set(done) <= {event.idempotency_key for event in started if event.name == "append"}
    key = ""
    for entry in entries:
        match entry.event:
            case ToolStarted(name="append"):
                key = entry.event.idempotency_key
            case ToolFinished(name="append", ok=True):
                assert done[key] == 1, "what the log says was done was not"
            case _:
                pass


@pytest.mark.parametrize("rounds", [10, pytest.param(60, marks=pytest.mark.live)])
def test_killed_again_and_again(
    provider: ProviderFactory, home: Path, workspace: Path, tmp_path: Path, rounds: int
) -> None:
    tools = tmp_path / "tools.py"
    tools.write_text(TOOL)
    server = provider(REPEAT(reply), strict=True)  # it refuses a history that is not well formed
    options = ("--tools-from", str(tools), "--allow", "append", "--output", "stream-json")
    chance = random.Random(rounds)
    before: tuple[Entry, ...] = ()
    killed = seen = 0
    for number in range(rounds):
        again = ("-c",) if before else ()
        with Program(
            ["agent-single", *again, *options, f"round {number}"], env=clean_env(home, server), cwd=workspace
        ) as program:
            program.close_stdin()
            sign = chance.randint(0, REQUESTS)
            if sign:
                server.wait_for_request(seen + sign)
            else:
                program.wait_for_output('"type":"session_', stream="stdout")
            time.sleep(chance.random() * LONGEST)  # no event to wait for: any moment will do
            program.signal(signal.SIGKILL)
            killed += program.wait().code == 137
            shown = program.stdout
        seen = len(server.requests)
        entries = log_of(home)
        check(entries, before, shown, workspace)
        before = entries
    assert killed >= rounds // 2, "most were killed before they ended"
    with Program(
        ["agent-single", "-c", *options, "at last"], env=clean_env(home, server), cwd=workspace
    ) as program:
        program.close_stdin()
        result = program.wait()
    assert result.code == 0, result.err
    check(log_of(home), before, result.stdout, workspace)
