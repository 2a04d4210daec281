"""What the user allowed for always, when asked: rules in a file of their own."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from agent_chat.core.errors import UserError
from agent_chat.core.rules import Rule, parse_rule


class RememberedRules:
    """A text file of rules, one a line, each of which allows; `#` begins a comment."""

    def __init__(self, config_folder: Path) -> None:
        self.path = config_folder / "allowed_rules"

    def rules(self) -> tuple[Rule, ...]:
        """All of them; a file that is closed to us allows nothing. Raises UserError with the place of what is
        no rule."""
        rules: list[Rule] = []
        for number, line in enumerate(self._lines(closed_is_empty=True), 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            place = f"{self.path}:{number}"
            try:
                rules.append(parse_rule(line, "allow", "user", place))
            except ValueError as error:
                raise UserError(f"{place}: {error}", hint="Mend or remove that line.") from error
        return tuple(rules)

    def add(self, rule: str) -> None:
        """Keeps a rule. Raises UserError."""
        lines = self._lines()
        line = " ".join(rule.split("\n"))
        if line in lines:
            return
        # Whole or not at all: half a rule may allow more than the whole.
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(
                "w", encoding="utf-8", dir=self.path.parent, prefix=".allowed_rules.", delete=False
            ) as file:
                file.writelines(f"{each}\n" for each in (*lines, line))
            os.replace(file.name, self.path)
        except OSError as error:
            raise UserError(
                f"{self.path} cannot be written: {error.strerror or error}", hint="Make the folder writable."
            ) from error

    def _lines(self, *, closed_is_empty: bool = False) -> list[str]:
        nothing = (FileNotFoundError, PermissionError) if closed_is_empty else FileNotFoundError
        try:
            return self.path.read_text(encoding="utf-8").splitlines()
        except nothing:
            return []
        except (OSError, ValueError) as error:
            raise UserError(
                f"{self.path} cannot be read: {error}", hint="Mend or remove it, then try again."
            ) from error
