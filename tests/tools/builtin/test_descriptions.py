"""What the model is told of the built-in tools."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agent_chat.tools import builtin
from agent_chat.tools.builtin.calc import calc_tools
from agent_chat.tools.builtin.chat import chat_tools
from agent_chat.tools.builtin.clock import clock_tools
from agent_chat.tools.builtin.edit import edit_tools
from agent_chat.tools.builtin.files import file_tools
from agent_chat.tools.builtin.results import result_tools
from agent_chat.tools.builtin.search import search_tools
from agent_chat.tools.builtin.shell import shell_tool
from agent_chat.tools.builtin.web import fetch_tool, search_tool
from agent_chat.tools.seen import SeenFiles
from agent_chat.tools.toolbox import ToolRegistry
from agent_chat.tools.web.searching import SearchProvider
from agent_chat.tools.workspace import Workspace


class Nothing:
    """Stands for what the tools receive; describing them uses none of it."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError(f"{name} was used")


@pytest.fixture
def registry(workspace: Path) -> ToolRegistry:
    nothing: object = Nothing()
    inside = Workspace(workspace)
    return ToolRegistry(
        [
            *clock_tools(nothing),  # type: ignore[arg-type]
            *calc_tools(),
            *file_tools(inside),
            *search_tools(inside),
            *edit_tools(inside, nothing, SeenFiles()),  # type: ignore[arg-type]
            shell_tool(inside, nothing, {}),  # type: ignore[arg-type]
            fetch_tool(),
            search_tool(SearchProvider("brave", "http://127.0.0.1:9")),
            *chat_tools(nothing),  # type: ignore[arg-type]
            *result_tools(nothing),  # type: ignore[arg-type]
        ]
    )


def test_every_tool_and_every_parameter_is_described_briefly(registry: ToolRegistry) -> None:
    for spec in registry.specs():
        sentences = re.findall(r"[.!?](?:\s|$)", spec.description.replace("`*.py`", ""))
        assert 1 <= len(sentences) <= (6 if spec.name == "shell" else 2), spec
        for name, shape in spec.parameters["properties"].items():
            assert 0 < len(shape.get("description", "")) < 250, (spec.name, name)


def test_every_description_names_the_parameters_that_there_are(registry: ToolRegistry) -> None:
    folder = Path(str(builtin.__file__)).parent
    for spec in registry.specs():
        listed = re.findall(r"^- `(\w+)`:", (folder / f"{spec.name}.md").read_text("utf-8"), re.M)
        assert listed == list(spec.parameters["properties"]), spec.name


def test_what_they_do_to_the_world(registry: ToolRegistry) -> None:
    effects = {name: tool.effect for name in registry.names if (tool := registry.get(name))}
    assert {name: effect for name, effect in effects.items() if effect != "read"} == {
        "write_file": "write",
        "edit_file": "write",
        "shell": "execute",
        "fetch_url": "network",
        "web_search": "network",
    }


def test_all_together_are_short_enough_for_small_models(registry: ToolRegistry) -> None:
    told = json.dumps([[spec.name, spec.description, dict(spec.parameters)] for spec in registry.specs()])
    assert len(told) < 9_000


def test_making_the_tools_loads_nothing_that_only_running_them_needs() -> None:
    program = """
import sys
from pathlib import Path
import agent_chat.core.ports
before = set(sys.modules)
from agent_chat.tools.builtin import calc, chat, clock, edit, files, results, search, web
from agent_chat.tools.seen import SeenFiles
from agent_chat.tools.toolbox import ToolRegistry
from agent_chat.tools.workspace import Workspace
here = Workspace(Path.cwd())
tools = [*calc.calc_tools(), *files.file_tools(here), *search.search_tools(here), *clock.clock_tools(None)]
tools += [*edit.edit_tools(here, None, SeenFiles()), web.fetch_tool()]
ToolRegistry(tools)
heavy = {"simpleeval", "pathspec", "zoneinfo", "mimetypes", "fractions", "httpx", "litellm", "openai", "rich"}
heavy |= {"bs4", "markdownify"}
print(*sorted(heavy & (set(sys.modules) - before)))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "\n"
