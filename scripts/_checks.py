"""The steps of scripts/check and scripts/test: each runs, whatever the ones before it said."""

import os
import subprocess

from _environment import ROOT, Environment, child_environment
from _progress import say

SMALL_MODEL = "smollm2-135m"  # for the one test of a real turn


def run_checks(environment: Environment) -> int:
    """The exit code of the first check that failed, else 0."""
    scripts = _python_scripts()
    places = ["agent_chat", "tests", "scripts"]
    return _first_failure(
        _run(environment, "ruff", "check", "--quiet", ".", *scripts),
        _run(environment, "ruff", "format", "--check", "--quiet", ".", *scripts),
        # Told where the packages are, or it looks beside whichever Python is first on PATH.
        _run(environment, "pyright", "--pythonpath", str(environment.python), *places, *scripts),
    )


def run_everything(environment: Environment, arguments: list[str], *, live: bool) -> int:
    """The exit code of the first step that failed, else 0. pytest comes last: its closing line is the end."""
    selection = [] if live else ["-m", "not live"]
    small_model = _run(environment, "agent-chat", "models", "pull", SMALL_MODEL)
    if arguments:
        return _first_failure(small_model, _run(environment, "pytest", *selection, *arguments))
    checks = run_checks(environment)
    workers = ["-n", str(max(2, min(8, os.cpu_count() or 2))), "--dist", "worksteal"]
    return _first_failure(small_model, checks, _run(environment, "pytest", *selection, *workers))


def _run(environment: Environment, program: str, *arguments: str) -> int:
    name = f"{program} {arguments[0]}" if arguments and arguments[0].isalpha() else program
    say(name)
    # The type checker comes inside its wheel; without this it asks the index for a newer one.
    environ = child_environment() | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    code = subprocess.call([environment.command(program), *arguments], cwd=ROOT, env=environ)
    if code != 0 and program != "pytest":
        say(f"{name} failed with exit code {code}; what it says is above")
    return code


def _first_failure(*codes: int) -> int:
    return next((code for code in codes if code != 0), 0)


def _python_scripts() -> list[str]:
    """The commands without a .py ending, which the tools do not find by themselves."""
    files = (path for path in sorted((ROOT / "scripts").iterdir()) if path.is_file() and not path.suffix)
    return [str(path.relative_to(ROOT)) for path in files if b"python" in path.read_bytes()[:40]]
