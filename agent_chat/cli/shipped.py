"""Finds what ships with the program: beside the package in a wheel, beside the source in a clone."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def shipped_folder() -> Path:
    """The folder of shipped defaults. Raises FileNotFoundError where the installation is incomplete."""
    for folder in (_PACKAGE / "config", _PACKAGE.parent / "config"):
        if (folder / "default.yaml").is_file():
            return folder
    raise FileNotFoundError(f"the shipped configuration is missing beside {_PACKAGE}")


def default_settings_file() -> Path:
    return shipped_folder() / "default.yaml"


def default_system_prompt(*, embedded: bool = False) -> str:
    """The shipped system prompt. The one for an embedded model is short: there every word takes time."""
    name = "embedded.md" if embedded else "system.md"
    return (shipped_folder() / "prompts" / name).read_text(encoding="utf-8").strip()
