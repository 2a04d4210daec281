"""The import directions: everything points inwards, to `core`."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import agent_chat

ROOT = Path(agent_chat.__file__).parent
ALLOWED: dict[str, set[str]] = {
    "core": set(),
    "engine": {"core"},
    "local": {"core"},
    "models": {"core", "local"},
    "sandbox": {"core"},
    "tools": {"core", "sandbox"},
    "sessions": {"core"},
    "trace": {"core"},
    "ui": {"core"},
    "durable": {"core", "engine"},
    "evals": {"core", "engine"},
}
"""What each package may import besides itself. `cli`, the library's `agent` and the root may import all."""
ROOT_NAMES = {"agent_chat", "__version__"}
WIRING = {"cli", "agent", "__init__"}


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(ROOT.rglob("*.py")):
        relative = path.relative_to(ROOT)
        yield relative.parts[0].removesuffix(".py"), path


def imported(path: Path) -> Iterator[str]:
    """Dotted names of the project's modules that a file imports, at the top or inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.ImportFrom(module=str(module), level=0, names=names):
                if module == "agent_chat":
                    yield from (f"agent_chat.{name.name}" for name in names)
                elif module.startswith("agent_chat."):
                    yield module
            case ast.Import(names=names):
                yield from (name.name for name in names if name.name.startswith("agent_chat"))
            case ast.ImportFrom(level=level) if level:
                yield f"agent_chat.<relative import in {path.name}>"
            case _:
                pass


def test_imports_point_inwards() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for package, path in modules()
        if package not in WIRING
        for name in imported(path)
        if name.removeprefix("agent_chat.").split(".")[0] not in {*ALLOWED[package], package, *ROOT_NAMES}
    ]
    assert wrong == []


def test_every_package_has_a_direction() -> None:
    assert {package for package, _ in modules()} <= {*ALLOWED, *WIRING}


def test_importing_any_module_does_nothing_and_loads_no_model_library() -> None:
    names = [
        ".".join(("agent_chat", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        for _, path in modules()
    ]
    program = (
        "import importlib, sys, os\n"
        "before = set(os.listdir('.'))\n"
        f"for name in {names!r}: importlib.import_module(name)\n"
        "heavy = {'litellm', 'openai', 'xllamacpp', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert set(os.listdir('.')) == before\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
