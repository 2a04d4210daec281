"""The built wheel: complete, nothing too much, and it works where none of our sources are."""

import json
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from support.process import Result, clean_env, run

import agent_chat

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "config"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands' folder of an environment with the wheel, its requirements taken from the running one."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    scripts = Path(sysconfig.get_path("scripts", "venv", {"base": str(folder)}))
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))
    # A path that is added so is searched last, and its own .pth files, our sources among them, are not read.
    (packages / "requirements.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = ["install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    python = str(scripts / "python")
    command = [sys.executable, "-I", "-m", "pip", "--python", python, *install]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return scripts


def run_installed(scripts: Path, tmp_path: Path, program: str, *arguments: str) -> Result:
    """Runs in an empty folder, as a user with an empty home."""
    for folder in ("home", "empty"):
        (tmp_path / folder).mkdir()
    env = clean_env(tmp_path / "home")
    return run([str(scripts / program), *arguments], env=env, cwd=tmp_path / "empty")


def test_the_shipped_configuration_is_inside(names: set[str]) -> None:
    shipped = {path.relative_to(CONFIG).as_posix() for path in CONFIG.rglob("*") if path.is_file()}
    assert "default.yaml" in shipped
    assert {f"agent_chat/config/{name}" for name in shipped} <= names


def test_the_types_are_announced(names: set[str]) -> None:
    assert "agent_chat/py.typed" in names


def test_every_module_and_prompt_of_the_package_is_inside(names: set[str]) -> None:
    sources = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "agent_chat").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert sources <= names


def test_nothing_else_is_inside(wheel: Path, names: set[str]) -> None:
    info = "-".join(wheel.name.split("-")[:2]) + ".dist-info"
    assert {name.split("/")[0] for name in names} == {"agent_chat", info}
    assert not [name for name in names if name.endswith((".pyc", ".gguf", ".db"))]


def test_both_commands_are_entry_points(wheel: Path, names: set[str]) -> None:
    (entry_points,) = [name for name in names if name.endswith("/entry_points.txt")]
    with zipfile.ZipFile(wheel) as archive:
        lines = archive.read(entry_points).decode().split("\n")
    assert "agent-chat = agent_chat.cli.main:chat" in lines
    assert "agent-single = agent_chat.cli.main:single" in lines


@pytest.mark.parametrize("program", ["agent-chat", "agent-single"])
def test_the_installed_commands_tell_their_version(installed: Path, tmp_path: Path, program: str) -> None:
    result = run_installed(installed, tmp_path, program, "--version")
    assert result.code == 0, result.err
    assert agent_chat.__version__ in result.out


def test_the_installed_package_finds_its_own_configuration(installed: Path, tmp_path: Path) -> None:
    """Read as a resource from the wheel, not from the sources of this test."""
    code = (
        "import importlib.resources as r, json, agent_chat;"
        "text = (r.files('agent_chat') / 'config' / 'default.yaml').read_text('utf-8');"
        "print(json.dumps([agent_chat.__file__, text]))"
    )
    result = run_installed(installed, tmp_path, "python", "-c", code)
    assert result.code == 0, result.err
    place, text = json.loads(result.out)
    assert Path(place).is_relative_to(installed.parent)
    assert text == (CONFIG / "default.yaml").read_text("utf-8")
