"""Runs of the whole program that can be recorded: what is said, and what the scripted provider answers.

`python tests/support/recordings.py [NAME...]` writes those of tests/fixtures/recorded anew, through both
transports.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from support.process import clean_env, run
from support.provider import (
    CUT,
    DELTA,
    FIN,
    HTTP,
    OK,
    TC,
    USE,
    Item,
    OpenAIReply,
    Request,
    ScriptedProvider,
    T,
)

FOLDER = Path(__file__).parents[1] / "fixtures" / "recorded"
TRANSPORTS = ("direct", "litellm")
CODE = "def add(a, b):\n    return a - b\n"
FIX = {"path": "code.py", "old": "return a - b", "new": "return a + b"}
OVERFLOW = HTTP(400, body={"error": {"code": "context_length_exceeded", "message": "too many tokens"}})


def calls(*wanted: tuple[str, dict[str, Any]]) -> tuple[Item, ...]:
    made = [TC(at, f"c{at + 1}", name, json.dumps(given)) for at, (name, given) in enumerate(wanted)]
    return (*made, FIN("tool_calls"), USE(120, 20, cached=100))


def long_lines() -> str:
    return "".join(f"line {number} of the file\n" for number in range(60))


@dataclass(frozen=True, slots=True)
class Scenario:
    """A conversation from a pipe. `holds`: event types that its log must have."""

    name: str
    said: tuple[str, ...]
    replies: Callable[[], Sequence[OpenAIReply]]
    holds: tuple[str, ...]
    args: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict[str, str])
    code: int = 0


def _shortened() -> Sequence[OpenAIReply]:
    sizes: list[int] = []

    def if_half(request: Request) -> Sequence[Item]:
        sizes.append(len(request.raw))
        return OK if len(request.raw) < 0.6 * sizes[0] else (OVERFLOW,)

    turn = [calls(("read_file", {"path": "long.txt"})), (T("I have read it. " * 20), FIN("stop"))]

    def measured(request: Request) -> Sequence[Item]:
        sizes.append(len(request.raw))
        return (OVERFLOW,)

    return [*turn * 8, measured, if_half]


def _compacted() -> Sequence[OpenAIReply]:
    def counted(request: Request) -> Sequence[Item]:
        tokens = len(request.raw) // 4
        if "Write the summary" in request.raw.decode() or "## Open points" in request.raw.decode():
            return (T("## Goal\nTo talk at length."), FIN("stop"), USE(tokens, 10))
        return (T("fine"), FIN("stop"), USE(tokens, 5))

    return [counted] * 20


SCENARIOS = (
    Scenario(
        "parallel",
        ("look around",),
        lambda: [
            calls(
                ("calc", {"expression": "6*7"}),
                ("read_file", {"path": "code.py"}),
                ("list_files", {"path": "."}),
                ("nope", {}),
            ),
            (DELTA({"reasoning_content": "all there"}), T("It is 42."), FIN("stop"), USE(150, 8)),
        ],
        ("tool_started", "intent_rejected", "turn_ended"),
        files={"code.py": CODE},
    ),
    Scenario(
        "retries",
        ("hello", "again"),
        lambda: [HTTP(503), (T("half an ans"), CUT), OK, HTTP(429, {"Retry-After": "0"}), OK],
        ("attempt_failed", "retry_waiting"),
    ),
    Scenario(
        "fallback",
        ("hello", "again"),
        lambda: [HTTP(404), OK, OK],
        ("model_switched",),
        ("--fallback", "openai/other"),
    ),
    Scenario(
        "shortened",
        ("read it",) * 8 + ("and now?",),
        _shortened,
        ("context_shortened",),
        files={"long.txt": long_lines()},
    ),
    Scenario(
        "compacted",
        tuple(f"message {number} {'word ' * 600}" for number in range(1, 13)),
        _compacted,
        ("compaction_started", "context_compacted", "job_replied"),
        ("-C", "context.window=12000"),
    ),
    Scenario(
        "denied",
        ("write it", "go on"),
        lambda: [calls(("write_file", {"path": "x", "content": "x"})), OK, OK],
        ("approval_requested", "approval_resolved", "intent_rejected"),
    ),
    Scenario(
        "edit",
        ("mend it",),
        lambda: [
            calls(("read_file", {"path": "code.py"}), ("edit_file", FIX)),
            calls(("write_file", {"path": "new/notes.md", "content": "Mended.\n"})),
            OK,
        ],
        ("file_changed",),
        ("--mode", "accept-edits"),
        files={"code.py": CODE},
    ),
    Scenario(
        "failing-tools",
        ("try",),
        lambda: [
            calls(("read_file", {"path": "missing.txt"}), ("calc", {"expression": "1/0"})),
            calls(("calc", {"wrong": 1}), ("read_file", {})),
            OK,
        ],
        ("tool_finished", "intent_rejected"),
    ),
    Scenario(
        "long-result",
        ("read all",),
        lambda: [calls(("read_file", {"path": "long.txt"})), OK],
        ("tool_finished",),
        ("-C", "rules.result_limit=600"),
        files={"long.txt": long_lines()},
    ),
    Scenario(
        "end-chat",
        ("bye", "never sent"),
        lambda: [calls(("end_chat", {})), (T("Good bye."), FIN("stop"))],
        ("tool_finished", "session_ended"),
    ),
    Scenario(
        "limit",
        ("go on and on",),
        lambda: [
            *(calls(("calc", {"expression": f"{number}+1"})) for number in range(5)),
            (T("I added a little."), FIN("stop")),
        ],
        ("limit_warning", "model_replied"),
        ("--max-iterations", "5"),
        code=3,
    ),
    Scenario(
        "cut-off",
        ("tell me all",),
        lambda: [(T("It began "), FIN("length")), (FIN("stop"),), (T("and it ended."), FIN("stop"))],
        ("reply_discarded", "model_replied"),
    ),
)


def record(scenario: Scenario, home: Path, workspace: Path, file: Path, *args: str) -> None:
    """Runs it, with a recording in `file`. Fails where the program does not end as it should."""
    for name, content in scenario.files.items():
        (workspace / name).write_text(content, encoding="utf-8")
    with ScriptedProvider(scenario.replies(), strict=True, allow_unused=True) as provider:
        lines = "".join(f"{text}\n" for text in scenario.said).encode()
        words = ["agent-chat", *args, *scenario.args, "--record", str(file)]
        done = run(words, env=clean_env(home, provider), stdin=lines, cwd=workspace, timeout=60)
    assert done.code == scenario.code, done.err


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = [scenario for scenario in SCENARIOS if scenario.name in sys.argv[1:] or not sys.argv[1:]]
    for transport in TRANSPORTS:
        for scenario in wanted:
            with tempfile.TemporaryDirectory(prefix="recorded-") as folder:
                home, workspace = Path(folder) / "home", Path(folder) / "workspace"
                home.mkdir()
                workspace.mkdir()
                file = FOLDER / f"{scenario.name}-{transport}.jsonl"
                record(scenario, home, workspace, file, "-C", f"transport={transport}")
                sys.stdout.write(f"{file.name}: {file.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
