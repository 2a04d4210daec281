"""How well the default embedded model uses tools: sessions with the right calls and the right answers."""

import importlib
import json
import math
import re
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from agent_chat.local.catalog import CATALOG
from agent_chat.local.download import fetch
from agent_chat.local.engine import LocalEngine

NOON = datetime(2026, 11, 30, 11, 20, tzinfo=UTC)
FILES = {
    "pyproject.toml": '[project]\nname = "sunflower-kit"\nversion = "3.1.4"\nrequires-python = ">=3.11"\n',
    "README.md": "# Sunflower kit\n\nGrow sunflowers.\nInstall with `pip install sunflower-kit`.\n",
    "src/main.py": 'import sys\n\ndef main():\n    print("hello")\n',
    "notes.txt": "The meeting is on Friday at 15:30 in room B12.\n",
}
SYSTEM = (
    "You are a helpful assistant in the terminal. Be brief and correct. The workspace is the current folder."
)


def calc(expression: str) -> str:
    expression = re.sub(r"([\d.]+)\s*%\s*of\s*", r"\1/100*", expression.replace("^", "**"))
    evaluate: Any = importlib.import_module("simpleeval").simple_eval
    return format(float(evaluate(expression, functions={"sqrt": math.sqrt})), ".10g")


def search(query: str) -> str:
    found = [
        f"{file}:{number}: {line}"
        for file, text in FILES.items()
        for number, line in enumerate(text.splitlines(), 1)
        if query.lower() in line.lower()
    ]
    return "\n".join(found) or "no match"


TOOLS: dict[str, tuple[str, str, Callable[[str], str]]] = {
    "now": ("timezone", "Give the date and time in a time zone (an IANA name such as Europe/Berlin).",
            lambda zone: NOON.astimezone(ZoneInfo(zone)).isoformat()),
    "calc": ("expression", "Evaluate an arithmetic expression; knows sqrt and \"15% of 240\".", calc),
    "read_file": ("path", "Read a text file of the workspace.",
                  lambda path: FILES.get(path.removeprefix("./"), "there is no such file")),
    "list_files": ("path", "List the files of a folder of the workspace.", lambda _: "\n".join(FILES)),
    "search_text": ("query", "Search all files of the workspace for a text.", search),
    "end_chat": ("message", "End the session; for when the user says goodbye.",
                 lambda _: "The session ends after this turn."),
}  # fmt: skip


def schema(name: str) -> dict[str, Any]:
    parameter, description, _ = TOOLS[name]
    parameters = {"type": "object", "properties": {parameter: {"type": "string"}}, "required": [parameter]}
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }


@dataclass
class Session:
    engine: LocalEngine
    messages: list[dict[str, Any]] = field(default_factory=lambda: [{"role": "system", "content": SYSTEM}])
    called: set[str] = field(default_factory=set[str])

    async def say(self, text: str) -> str:
        """The final answer to `text`."""
        self.messages.append({"role": "user", "content": text})
        for _ in range(6):
            content, calls = await self._iteration()
            self.messages.append(
                {"role": "assistant", "content": content} | ({"tool_calls": calls} if calls else {})
            )
            if not calls:
                return content
            for call in calls:
                result = self._run(call["function"])
                self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        return "no final answer in six iterations"

    async def _iteration(self) -> tuple[str, list[dict[str, Any]]]:
        content, calls = "", list[dict[str, Any]]()
        body = {"messages": self.messages, "tools": [schema(name) for name in TOOLS], "max_tokens": 300}
        async for chunk in self.engine.stream(body):
            for choice in chunk["choices"]:
                content += choice["delta"].get("content") or ""
                calls += choice["delta"].get("tool_calls") or []
        return content, calls

    def _run(self, function: dict[str, Any]) -> str:
        parameter, _, run = TOOLS[function["name"]]
        self.called.add(function["name"])
        try:
            return run(json.loads(function["arguments"])[parameter])
        except Exception as error:
            return f"error: {error}"


@pytest.fixture(scope="module")
def entry() -> Any:
    return CATALOG["qwen2.5-coder-1.5b"]


@pytest.fixture
async def session(entry: Any) -> AsyncGenerator[Session, None]:
    engine = await LocalEngine.load(await fetch(entry))
    yield Session(engine)
    await engine.close()


@pytest.mark.live
async def test_a_question_in_two_parts_takes_both_tools(session: Session) -> None:
    answer = await session.say("What is 17 * 23, and what time is it in Tokyo?")
    assert session.called == {"calc", "now"}
    assert "391" in answer
    assert re.search(r"20:20|8:20", answer)


@pytest.mark.live
async def test_a_session_reads_a_file_follows_up_and_ends(session: Session) -> None:
    assert "sunflower-kit" in await session.say("read pyproject.toml and tell me the package name")
    assert session.called == {"read_file"}
    assert "3.1.4" in await session.say("And which version is it?")
    await session.say("Great, thanks. Goodbye!")
    assert "end_chat" in session.called


TASKS = [
    ("What is (12 + 8) * 7.5?", {"calc"}, "150"),
    ("How much is 8% of 90?", {"calc"}, "7.2"),
    ("What is the square root of 1764?", {"calc"}, "42"),
    ("What time is it in New York right now?", {"now"}, "6:20"),
    ("Is it already evening in Sydney? Tell me the time there.", {"now"}, "22:20"),
    ("When is the meeting, according to notes.txt?", {"read_file"}, "15:30"),
    ("Which file mentions the word sunflowers?", {"search_text"}, "README"),
    ("How do I install the project? Look in README.md.", {"read_file"}, "pip install sunflower-kit"),
    ("List the files of the workspace.", {"list_files"}, "notes.txt"),
    ("What is the capital of France?", set[str](), "Paris"),
    ("Hi there!", set[str](), ""),
    ("Write a Python function that reverses a string.", set[str](), "def "),
]


@pytest.mark.live
async def test_most_tasks_take_the_right_tools_to_the_right_answer(session: Session) -> None:
    failed: list[str] = []
    for question, tools, expected in TASKS:
        one = Session(session.engine)
        answer = await one.say(question)
        if one.called != tools or expected.lower() not in answer.lower():
            failed.append(f"{question} {one.called} {answer}")
    assert len(failed) <= 2, failed
