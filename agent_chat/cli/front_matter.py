"""Markdown files that begin with a few lines of YAML between two lines `---`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

LARGEST = 32 * 1024
"""Bytes of a file that is read."""
_FRONT = re.compile(r"---[ \t]*\n(?P<front>.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


def read_markdown(path: Path) -> tuple[Mapping[str, Any], str]:
    """What stands in front, empty where nothing does, and the text behind it.

    Raises ValueError, which says what is wrong with the file.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise ValueError(error.strerror or str(error)) from error
    if len(data) > LARGEST:
        raise ValueError(f"it is larger than {LARGEST // 1024} KB")
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ValueError("it is not UTF-8") from error
    match = _FRONT.match(text)
    return (_parsed(match["front"]), text[match.end() :].strip()) if match else ({}, text.strip())


def _parsed(front: str) -> Mapping[str, Any]:
    import yaml

    try:
        value = yaml.safe_load(front)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ValueError("what stands between the lines --- is no YAML") from error
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
