"""Names of sessions: short, sortable by time, safe as file names."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""Base 32 without the letters that are easily misread: i, l, o, u."""

_VALID = re.compile(r"[0-9a-z][0-9a-z-]{0,63}")


def create_session_id(now: float) -> str:
    """Such as `20261130-201512-k3f9`: the second in UTC and a random part. `now`: seconds since the epoch."""
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d-%H%M%S")
    tail = "".join(ALPHABET[byte % len(ALPHABET)] for byte in os.urandom(4))
    return f"{stamp}-{tail}"


def is_session_id(text: str) -> bool:
    """Whether a text may be used as the id of a session, and so as the name of a file."""
    return _VALID.fullmatch(text) is not None
