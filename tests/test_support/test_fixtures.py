"""The fixtures that the robustness tests use, on stand-ins that show what the real commands would get."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from support.fixtures import Command, OpenTerminal, ProviderFactory
from support.process import clean_env, run
from support.provider import OK

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="stand-ins are shell scripts")

STAND_IN = """#!/bin/sh
echo "$0 $*" "$(pwd)" "$HOME" "$OPENAI_BASE_URL" "${X-unset}" "${LANG-unset}" "$(cat)"
exit 3
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH on which both commands are stand-ins."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("agent-single", "agent-chat"):
        script = folder / name
        script.write_text(STAND_IN)
        script.chmod(0o755)
    return os.pathsep.join([str(folder), os.environ["PATH"]])


def test_the_commands_get_words_input_folder_and_environment(
    single: Command,
    chat: Command,
    provider: ProviderFactory,
    home: Path,
    workspace: Path,
    path: str,
) -> None:
    server = provider(OK, allow_unused=True)
    for command, name in ((single, "agent-single"), (chat, "agent-chat")):
        result = command("a", "b", provider=server, stdin=b"in", PATH=path, X="1", LANG=None)
        program, rest = result.out.split(" ", 1)
        assert Path(program).name == name
        assert rest == f"a b {workspace} {home} {server.base_url} 1 unset in\n"
        assert (result.err, result.code) == ("", 3)


def test_the_terminal_starts_in_the_workspace_with_a_clean_home(
    terminal: OpenTerminal, provider: ProviderFactory, home: Path, workspace: Path, path: str
) -> None:
    server = provider(OK, allow_unused=True)
    window = terminal("agent-chat", provider=server, cols=500, PATH=path, X="1", LANG=None)
    window.send_key("ctrl-d")
    assert window.wait_exit() == 3
    program, rest = window.screen[0].split(" ", 1)
    assert Path(program).name == "agent-chat"
    assert rest.split() == [str(workspace), str(home), server.base_url, "1", "unset"]


def test_a_script_that_is_not_followed_fails_the_test(home: Path, workspace: Path) -> None:
    tests = Path(__file__).parents[1]
    (workspace / "conftest.py").write_text((tests / "conftest.py").read_text())
    (workspace / "test_it.py").write_text(
        "from support.provider import OK\ndef test_it(provider): provider(OK)\n"
    )
    args = ["pytest", "-p", "no:cacheprovider", "-o", f"pythonpath={tests}", "-rE", "test_it.py"]
    result = run(args, env=clean_env(home), cwd=workspace)
    assert "1 of 1 scripted replies were never asked for" in result.out
    assert "1 passed, 1 error" in result.out
