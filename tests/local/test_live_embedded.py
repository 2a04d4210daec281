"""How well the default embedded model does in the program as it is: its tools, its prompt, its commands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from support.flows import log_of, of_type
from support.process import Result, clean_env, run

from agent_chat.local.catalog import CATALOG
from agent_chat.local.download import fetch

pytestmark = pytest.mark.live

NAME = "qwen2.5-coder-1.5b"
FILES = {
    "pyproject.toml": '[project]\nname = "sunflower-kit"\nversion = "3.1.4"\nrequires-python = ">=3.11"\n',
    "README.md": "# Sunflower kit\n\nGrow sunflowers.\nInstall with `pip install sunflower-kit`.\n",
    "src/main.py": 'import sys\n\ndef main():\n    print("hello")\n',
    "notes.txt": "The meeting is on Friday at 15:30 in room B12.\n",
}
CHANGE = """diff --git a/src/main.py b/src/main.py
--- a/src/main.py
+++ b/src/main.py
@@ -3,2 +3,2 @@
 def main():
-    print("hello")
+    print("good morning")
"""


@dataclass(frozen=True, slots=True)
class Bench:
    """The program with the model, in a workspace with a few files."""

    home: Path
    workspace: Path
    models: Path

    def run(self, *args: str, stdin: str = "") -> Result:
        env = clean_env(self.home, AGENT_CHAT_MODELS_DIR=str(self.models), AGENT_CHAT_MODEL=f"local/{NAME}")
        done = run(args, env=env, stdin=stdin.encode(), cwd=self.workspace, timeout=600)
        assert done.code == 0, done.err
        return done

    def called(self) -> list[str]:
        """The tools that ran in the latest session, in order."""
        return [event.name for event in of_type(log_of(self.home), "tool_started")]


@pytest.fixture
async def models() -> Path:
    """The folder of the weights."""
    return (await fetch(CATALOG[NAME])).parent


@pytest.fixture
def bench(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    # One home for all of these, so that the beginning of the prompt is evaluated once.
    home = tmp_path_factory.getbasetemp() / "embedded-home"
    workspace = tmp_path_factory.mktemp("workspace")
    for name, text in FILES.items():
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text(text, encoding="utf-8")
    home.mkdir(exist_ok=True)
    return Bench(home, workspace, models)


def tells_the_time(answer: str, zone: str) -> bool:
    """Whether the answer has the time there, of this minute or of one shortly before."""
    now = datetime.now(ZoneInfo(zone))
    times = [now - timedelta(minutes=ago) for ago in range(10)]
    return any(re.search(rf"\b0?{time.hour % 12 or 12}:{time:%M}|{time:%H:%M}", answer) for time in times)


def test_a_question_in_two_parts_takes_both_tools(bench: Bench) -> None:
    answer = bench.run("agent-single", "What is 17 * 23, and what time is it in Tokyo?").out
    assert sorted(bench.called()) == ["calc", "now"]
    assert "391" in answer
    assert tells_the_time(answer, "Asia/Tokyo")


def test_a_session_reads_a_file_follows_up_and_ends(bench: Bench) -> None:
    lines = [
        "read pyproject.toml and tell me the package name",
        "And which version is it?",
        "Great, thanks. Goodbye!",
        "this line is not sent any more",
    ]
    done = bench.run("agent-chat", stdin="\n".join(lines) + "\n")
    assert "sunflower-kit" in done.out
    assert "3.1.4" in done.out
    assert bench.called()[0] == "read_file"
    assert bench.called()[-1] == "end_chat"
    assert of_type(log_of(bench.home), "session_ended")[-1].reason == "end_chat"


def test_a_change_on_standard_input_is_summarized(bench: Bench) -> None:
    answer = bench.run("agent-single", "summarise", stdin=CHANGE).out
    assert "good morning" in answer.lower() or "main" in answer


TASKS: Sequence[tuple[str, set[str], str]] = [
    ("What is (12 + 8) * 7.5?", {"calc"}, "150"),
    ("How much is 8% of 90?", {"calc"}, "7.2"),
    ("What is the square root of 1764?", {"calc"}, "42"),
    ("What time is it in New York right now?", {"now"}, ":"),
    ("When is the meeting, according to notes.txt?", {"read_file"}, "15:30"),
    ("Which file mentions the word sunflowers?", {"search_text"}, "README"),
    ("How do I install the project? Look in README.md.", {"read_file"}, "pip install sunflower-kit"),
    ("List the files of the workspace.", {"list_files"}, "notes.txt"),
    ("What is the capital of France?", set(), "Paris"),
    ("Hi there!", set(), ""),
    ("Write a Python function that reverses a string.", set(), "def "),
]


def test_most_tasks_take_the_right_tools_to_the_right_answer(bench: Bench) -> None:
    failed: list[str] = []
    for question, tools, expected in TASKS:
        answer = bench.run("agent-single", question).out
        if set(bench.called()) != tools or expected.lower() not in answer.lower():
            failed.append(f"{question} {bench.called()} {answer}")
    assert len(failed) <= 2, failed
