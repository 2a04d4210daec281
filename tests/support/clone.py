"""A clone of this project as its scripts see it, with a small project and small packages.

The scripts, pip, the environment and the hashes are real; the index is a folder of wheels.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from support.process import Program, Result, clean_env

_ROOT = Path(__file__).resolve().parents[2]
_STUB = Path(__file__).parent / "stub_project"


@dataclass(frozen=True, slots=True)
class Clone:
    folder: Path
    home: Path
    wheels: Path

    @classmethod
    def make(cls, parent: Path) -> Self:
        """A fresh clone below `parent`, nothing installed; both locks name the package `one`."""
        clone = cls(parent / "clone", parent / "home", parent / "wheels")
        shutil.copytree(_STUB, clone.folder, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(
            _ROOT / "scripts", clone.folder / "scripts", ignore=shutil.ignore_patterns("__pycache__")
        )
        for folder in (clone.folder / "requirements", clone.home, clone.wheels):
            folder.mkdir()
        clone.lock("run.lock", clone.wheel("one"))
        clone.lock("test.lock", clone.wheel("one"))
        return clone

    @property
    def venv(self) -> Path:
        return self.folder / ".venv"

    def wheel(self, name: str) -> str:
        """Puts a package of this name into the index; gives its line for a lock."""
        path = self.wheels / f"{name}-1.0-py3-none-any.whl"
        info = f"{name}-1.0.dist-info"
        with zipfile.ZipFile(path, "w") as wheel:
            for file, text in {
                f"{name}.py": "",
                f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
                f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
                f"{info}/RECORD": f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n",
            }.items():
                wheel.writestr(zipfile.ZipInfo(file), text)
        return f"{name}==1.0 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"

    def lock(self, name: str, *lines: str) -> None:
        (self.folder / "requirements" / name).write_text("\n".join(lines) + "\n", "utf-8")

    def change_project(self) -> None:
        """Makes the next start install the project again, and nothing else."""
        with (self.folder / "pyproject.toml").open("a", encoding="utf-8") as file:
            file.write("# changed\n")

    def start(self, script: str, *arguments: str, **variables: str | None) -> Program:
        offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels), "PIP_CONFIG_FILE": "/dev/null"}
        return Program(
            [sys.executable, self.folder / "scripts" / script, *arguments],
            env=clean_env(self.home, None, **(offline | variables)),
            cwd=self.home,
        )

    def run(self, script: str, *arguments: str, stdin: bytes = b"", **variables: str | None) -> Result:
        with self.start(script, *arguments, **variables) as program:
            program.send(stdin)
            program.close_stdin()
            return program.wait(120)


def calls(result: Result) -> list[dict[str, Any]]:
    """How the stub project's commands were called, in order."""
    return [json.loads(line) for line in result.out.splitlines()]
