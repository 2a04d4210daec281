"""httpx without its command line, which alone would bring Rich, Pygments and click."""

from __future__ import annotations

import sys
from typing import Any

_modules: dict[str, Any] = sys.modules
_blocked = "httpx" not in _modules and _modules.setdefault("httpx._main", None) is None
# httpx takes a missing command line for an installation without that extra.
import httpx as httpx  # noqa: E402

if _blocked:
    _modules.pop("httpx._main", None)
