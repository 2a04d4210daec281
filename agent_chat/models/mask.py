"""Takes credentials out of text that people, logs and traces may see."""

from __future__ import annotations

import re
from collections.abc import Iterable

MASK = "[masked]"

_KEY_FORMATS = re.compile(
    r"\b(?:"
    r"sk-[A-Za-z0-9_*.-]{4,}"  # OpenAI, Anthropic (sk-ant-), OpenRouter (sk-or-), DeepSeek, LiteLLM
    r"|AIza[A-Za-z0-9_-]{6,}"  # Google
    r"|gsk_[A-Za-z0-9]{6,}"  # Groq
    r"|xai-[A-Za-z0-9]{6,}"
    r"|hf_[A-Za-z0-9]{6,}"
    r"|AKIA[A-Z0-9]{12,}"  # Amazon
    r"|ey[A-Za-z0-9_-]{10,}\.ey[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+"  # JSON web tokens
    r")"
)
_NAMED = re.compile(
    r"(?i)(authorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)?\s*"
    r"|\bbearer\s+"
    r"|(?:x-)?(?:goog-)?api[-_]?key[\"']?\s*[:=]\s*[\"']?"
    r"|[?&](?:key|api_key|access_token|token)=)"
    r"([^\s\"'&,;)}]{6,})"
)


def mask(text: str, secrets: Iterable[str] = ()) -> str:
    """The text with every known secret, and all that looks like a credential, replaced by a mask.

    `secrets` are the exact values in use; ones too short to be told from words are left alone.
    """
    for secret in secrets:
        if len(secret) >= 6:
            text = text.replace(secret, MASK)
    text = _NAMED.sub(rf"\1{MASK}", text)
    return _KEY_FORMATS.sub(MASK, text)
