"""Files of the user's own: what of them is a tool, and what a mistake in one costs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from support.tools import call, context

from agent_chat.tools.user_tools import ToolFile, load_tool_file


def load(folder: Path, source: str, *, undecorated: bool = True, name: str = "mine.py") -> ToolFile:
    path = folder / name
    path.write_text(source, encoding="utf-8")
    return load_tool_file(path, undecorated=undecorated)


def names(file: ToolFile) -> list[str]:
    return [tool.name for tool in file.tools]


DECORATED = '''
from dataclasses import dataclass
from agent_chat import tool

@dataclass
class Place:
    name: str

@tool(effect="read", timeout=5)
def population(place: Place, year: int | None = None) -> int:
    """How many people live there.

    Args:
        year: the latest known when left out
    """
    return len(place.name)

def helper(text: str) -> str:
    """Typed and documented, but no tool."""
    return text

@tool
def _hidden(text: str) -> str:
    """Not public."""
    return text
'''


@pytest.mark.parametrize("undecorated", [True, False])
def test_decorated_functions_are_tools(tmp_path: Path, undecorated: bool) -> None:
    file = load(tmp_path, DECORATED, undecorated=undecorated)
    assert (names(file), file.problems) == (["population"], ())
    [tool] = file.tools
    assert (tool.effect, tool.timeout) == ("read", 5)
    assert tool.spec.description == "How many people live there."
    assert tool.spec.parameters["properties"]["year"]["description"] == "the latest known when left out"
    assert tool.origin == f"{tmp_path / 'mine.py'}:9"


UNDECORATED = '''
from agent_chat import ToolContext
from textwrap import dedent

def shout(text: str, context: ToolContext) -> str:
    """Says it loudly."""
    return text.upper()

def untyped(text):
    """No types."""

def undocumented(text: str) -> str:
    return text

def _private(text: str) -> str:
    """Private."""

class Thing:
    """No function."""
'''


async def test_without_a_decorator_typed_functions_with_a_docstring_are(tmp_path: Path) -> None:
    file = load(tmp_path, UNDECORATED)
    assert (names(file), file.problems) == (["shout"], ())
    [tool] = file.tools
    assert tool.effect == "execute"
    assert (await call(tool, text="hi")).content == "HI"
    none = load(tmp_path, UNDECORATED, undecorated=False)
    assert none.tools == ()
    assert none.problems == (
        f"{tmp_path / 'mine.py'}: there are no tools in it (no public function that @tool decorates)",
    )


@pytest.mark.parametrize(
    ("source", "line", "reason"),
    [
        ("import os\n\ndef x(:\n", 3, "SyntaxError: invalid syntax"),
        ("\nimport not_there_at_all\n", 2, "ModuleNotFoundError: No module named 'not_there_at_all'"),
        ("def f():\n    1 / 0\n\nf()\n", 2, "ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(3)\n", 2, "SystemExit: 3"),
        ("\n\ndef f(*args: str) -> str:\n    'Any.'\n", 3, "parameter *args: str has no name"),
        (
            "from typing import Iterator\n\ndef f(x: Iterator[object]) -> str:\n    'D.'\n    yield\n",
            3,
            "yields",
        ),
        ("class A: ...\n\ndef f(x: A) -> str:\n    'D.'\n    return ''\n", 3, "f"),
        ("a = '\x00'\n", None, "null bytes"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_costs_no_more(
    tmp_path: Path, source: str, line: int | None, reason: str
) -> None:
    file = load(tmp_path, source)
    assert file.tools == ()
    [problem] = file.problems
    assert "\n" not in problem
    place = f"{tmp_path / 'mine.py'}:" + (f"{line}: " if line else "")
    assert problem.startswith(place)
    assert reason in problem


def test_one_broken_function_leaves_the_others(tmp_path: Path) -> None:
    source = "def good(x: int) -> int:\n    'Good.'\n    return x\n\ndef bad(*x: int) -> int:\n    'Bad.'\n"
    file = load(tmp_path, source)
    assert names(file) == ["good"]
    assert len(file.problems) == 1


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    assert "cannot be read" in load_tool_file(tmp_path / "none.py", undecorated=True).problems[0]
    (tmp_path / "bytes.py").write_bytes(b"x = '\xff'\n")
    assert "bytes.py" in load_tool_file(tmp_path / "bytes.py", undecorated=True).problems[0]


async def test_files_of_one_name_do_not_meet_and_nothing_is_left_beside_them(tmp_path: Path) -> None:
    loaded: list[ToolFile] = []
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        source = f"N = {number}\ndef number() -> int:\n    'Gives it.'\n    return N\n"
        loaded.append(load(folder, source, name="json.py"))
    assert [(await call(file.tools[0])).content for file in loaded] == ["1", "2"]
    assert sys.modules["json"].__name__ == "json"
    left = [name for _, folders, files in os.walk(tmp_path) for name in (*folders, *files)]
    assert sorted(left) == ["1", "2", "json.py", "json.py"]


async def test_what_a_tool_prints_is_its_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = (
        "import sys\nprint('loading')\n"
        "def f(wait: bool) -> str:\n    'Prints.'\n"
        "    print('one')\n    print('two', file=sys.stderr)\n    return 'r'\n"
        "async def g() -> str:\n    'Prints too.'\n    print('three')\n    return 'r'\n"
    )
    file = load(tmp_path, source)
    heard: list[str] = []
    assert (await file.tools[0].run({"wait": True}, context(heard.append))).content == "r"
    assert (await file.tools[1].run({}, context(heard.append))).content == "r"
    print("mine")  # noqa: T201
    assert "".join(heard) == "one\ntwo\nthree\n"
    assert capsys.readouterr() == ("mine\n", "")
