"""Names by which models call the tools of servers: legal, unique, the same whoever starts first."""

from __future__ import annotations

import hashlib
import re

PREFIX = "mcp__"
LONGEST = 64
SERVER_PART = 20
"""Characters of a server's name in a name that had to be changed."""

_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]+")


def tool_name(server: str, tool: str) -> str:
    """`mcp__server__tool` where that is legal and says both parts; else shortened, with a hash of both.

    It depends on these two names alone, so that neither other servers nor their order can change it.
    """
    plain = f"{PREFIX}{server}__{tool}"
    is_clear = "__" not in server and not server.endswith("_") and server and tool
    if is_clear and len(plain) <= LONGEST and not _ILLEGAL.search(server + tool):
        return plain
    mark = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    head = f"{PREFIX}{_legal(server)[:SERVER_PART].strip('_') or 'server'}__"
    room = LONGEST - len(head) - len(mark) - 1
    return f"{head}{_legal(tool)[:room].strip('_') or 'tool'}_{mark}"


def _legal(name: str) -> str:
    return re.sub(r"__+", "_", _ILLEGAL.sub("_", name))
