"""scripts/test and scripts/check: every step runs, and the first failure decides."""

from support.clone import Clone, calls
from support.process import Result


def commands(result: Result) -> list[str]:
    return [call["command"] for call in calls(result)]


def test_everything_runs_and_the_tests_come_last(clone: Clone) -> None:
    result = clone.run("test")
    steps = calls(result)
    assert commands(result) == ["agent-chat", "ruff", "ruff", "pyright", "pytest"]
    assert steps[0]["arguments"] == ["models", "pull", "smollm2-135m"]
    assert [step["arguments"][0] for step in steps[1:3]] == ["check", "format"]
    assert "scripts/run" in steps[1]["arguments"]
    assert steps[-1]["arguments"][:3] == ["-m", "not live", "-n"]
    assert result.err.splitlines()[-1] == "agent-chat: pytest"
    assert result.code == 0


def test_the_first_failure_decides_and_stops_nothing(clone: Clone) -> None:
    result = clone.run("test", STUB_EXIT_PYRIGHT="7", STUB_EXIT_PYTEST="1")
    assert commands(result)[-1] == "pytest"
    assert "pyright failed with exit code 7" in result.err
    assert result.code == 7


def test_a_model_that_cannot_be_fetched_is_a_failure(clone: Clone) -> None:
    result = clone.run("test", STUB_EXIT_AGENT_CHAT="1")
    assert commands(result)[-1] == "pytest"
    assert result.code == 1


def test_no_test_found_is_a_failure(clone: Clone) -> None:
    assert clone.run("test", STUB_EXIT_PYTEST="5").code == 5


def test_arguments_are_pytests_and_leave_the_checks_out(clone: Clone) -> None:
    result = clone.run("test", "tests/core", "-k", "turn")
    assert commands(result) == ["agent-chat", "pytest"]
    assert calls(result)[-1]["arguments"] == ["-m", "not live", "tests/core", "-k", "turn"]


def test_live_adds_the_live_tests(clone: Clone) -> None:
    result = clone.run("test", "--live")
    assert commands(result) == ["agent-chat", "ruff", "ruff", "pyright", "pytest"]
    assert "-m" not in calls(result)[-1]["arguments"]
    assert calls(clone.run("test", "--live", "tests/live"))[-1]["arguments"] == ["tests/live"]


def test_check_is_the_checks_alone(clone: Clone) -> None:
    result = clone.run("check", STUB_EXIT_RUFF="1")
    assert commands(result) == ["ruff", "ruff", "pyright"]
    assert result.code == 1


def test_check_takes_no_arguments(clone: Clone) -> None:
    result = clone.run("check", "agent_chat")
    assert result.code == 2
    assert "scripts/check" in result.err
