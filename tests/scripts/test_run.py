"""scripts/run: prepares once, then is the program."""

import pytest
from support.clone import Clone, calls


def test_the_first_start_tells_what_it_does_and_opens_a_session(fresh_clone: Clone) -> None:
    result = fresh_clone.run("run", stdin=b"hi\n", STUB_EXIT_AGENT_CHAT="3")
    steps = [line.split(" ... ")[0] for line in result.err.splitlines()]
    assert steps[0].startswith(f"agent-chat: making {fresh_clone.venv} with Python 3.")
    assert steps[1:] == [
        "agent-chat: installing 1 packages of run.lock",
        "agent-chat: installing agent-chat itself",
    ]
    assert calls(result) == [
        {"command": "agent-chat", "arguments": [], "writes_bytecode": True, "stdin": "hi\n"}
    ]
    assert result.code == 3


def test_the_next_start_says_nothing_and_passes_every_argument_on(clone: Clone) -> None:
    result = clone.run("run", "--model", "x", "two words", "", "--help", PYTHONDONTWRITEBYTECODE="1")
    assert result.err == ""
    assert calls(result) == [
        {
            "command": "agent-single",
            "arguments": ["--model", "x", "two words", "", "--help"],
            "writes_bytecode": True,
            "stdin": "",
        }
    ]


@pytest.mark.parametrize("script", ["run", "test", "check"])
def test_help_installs_nothing(fresh_clone: Clone, script: str) -> None:
    result = fresh_clone.run(script, "--help")
    assert f"scripts/{script}" in result.out
    assert (result.code, result.err) == (0, "")
    assert not fresh_clone.venv.exists()
