"""The choice of a Python, and what is said when there is none."""

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs shell scripts as interpreters")


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("interpreter_under_test", SCRIPTS / "_interpreter.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def fake(tmp_path: Path) -> "Fake":
    return Fake(tmp_path)


class Fake:
    """Commands that answer as an interpreter would."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, name: str, answer: str, code: int = 0) -> str:
        path = self._folder / name
        path.write_text(f"#!/bin/sh\necho '{answer}'\nexit {code}\n")
        path.chmod(0o755)
        return str(path)


def test_the_running_python_will_do() -> None:
    found = load().find((sys.executable,))
    assert found.version == sys.version_info[:2]
    assert found.path == getattr(sys, "_base_executable", None)
    assert found.can_make_environments


def test_old_failing_and_missing_ones_are_passed_over(fake: Fake) -> None:
    candidates = (
        fake("python3", "3 10 1 /usr/bin/python3.10"),
        fake("python3.14", "version manager: python3.14: command not found", code=127),
        "/nowhere/python3.13",
        fake("bare", "3 13 0 /usr/bin/python3.13"),
        fake("python3.12", "3 12 1 /opt/my python/bin/python3.12"),
    )
    assert load().find(candidates).path == "/opt/my python/bin/python3.12"


def test_one_that_cannot_make_environments_is_told_how_to(fake: Fake) -> None:
    module = load()
    with pytest.raises(module.NoInterpreterError) as raised:
        module.find((fake("python3", "3 12 0 /usr/bin/python3.12"),))
    assert "Python 3.12 (/usr/bin/python3.12) cannot make environments" in str(raised.value)
    assert "apt install python3.12-venv" in str(raised.value)


def test_none_at_all_says_what_is_needed_and_what_was_found(fake: Fake) -> None:
    module = load()
    with pytest.raises(module.NoInterpreterError) as raised:
        module.find((fake("python3", "3 10 1 /usr/bin/python3.10"),))
    assert "Python 3.11 or newer is needed" in str(raised.value)
    assert sys.executable in str(raised.value)
    assert "https://www.python.org/downloads/" in str(raised.value)


@pytest.mark.parametrize("name", ["run", "test", "check", "_interpreter.py"])
def test_what_runs_before_the_version_is_checked_can_be_read_by_an_old_python(name: str) -> None:
    ast.parse((SCRIPTS / name).read_text("utf-8"), feature_version=(3, 6))
