"""What loading settings brings in, and what help does not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HEAVY = {"litellm", "openai", "httpx", "rich", "prompt_toolkit", "xllamacpp", "typer"}


def imported(program: str, tmp_path: Path) -> set[str]:
    """The modules that a program leaves behind."""
    code = f"{program}\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    env = {"XDG_CONFIG_HOME": str(tmp_path), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env, cwd=tmp_path
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_r55_loading_settings_needs_no_model_library_and_no_terminal_library(tmp_path: Path) -> None:
    program = "from agent_chat.cli.load_settings import load_settings; load_settings()"

    assert imported(program, tmp_path) & HEAVY == set()


def test_r55_loading_settings_opens_no_connection(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "def refuse(event, args):\n"
        "    if event.startswith('socket.'): raise AssertionError(event)\n"
        "sys.addaudithook(refuse)\n"
        "from agent_chat.cli.load_settings import load_settings; load_settings()"
    )

    assert "agent_chat.cli.settings" in imported(program, tmp_path)


def test_the_help_of_the_commands_needs_no_settings(tmp_path: Path) -> None:
    program = "import agent_chat.cli.config, agent_chat.cli.models"

    assert imported(program, tmp_path) & {"pydantic", "yaml", "rich", "agent_chat.cli.settings"} == set()
