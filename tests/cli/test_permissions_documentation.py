"""What docs/permissions.md says of command lines is what happens."""

from __future__ import annotations

import re
from pathlib import Path

from core.policies import policy, shell

DOCUMENT = Path(__file__).parents[2] / "docs" / "permissions.md"


def test_the_table_of_command_lines_is_true() -> None:
    rows = re.findall(
        r"^\| `(.+)` \| (allow|ask|deny) \|$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE
    )
    judged = policy(allow=["shell(echo *)", "shell(git status)", "shell(git log *)"], deny=["shell(rm *)"])
    assert len(rows) >= 14
    assert [(line, judged.explain(shell(line)).verdict) for line, _ in rows] == rows
