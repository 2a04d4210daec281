"""`${VAR}` and `${VAR:-default}` in the configuration of servers."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class Expander:
    """Puts values of variables in. `withheld` are variables that this file may not use."""

    def __init__(self, environ: Mapping[str, str], withheld: Collection[str] = ()) -> None:
        self._environ = environ
        self._withheld = withheld

    def expand(self, text: str) -> str:
        """Raises ValueError, with advice, for a variable that is not set and has no default.

        A variable that is set but empty counts as not set where there is a default.
        """
        return _VARIABLE.sub(self._value, text)

    def _value(self, match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        if name in self._withheld:
            raise ValueError(
                f"${{{name}}} holds a model's key, which a project's file does not get; "
                "put the server into your own mcp.json"
            )
        value = self._environ.get(name)
        if default is not None:
            return value or default
        if value is None:
            raise ValueError(f"${{{name}}} is not set; set it, or write ${{{name}:-default}}")
        return value
