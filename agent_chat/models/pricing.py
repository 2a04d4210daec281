"""What a reply cost, by LiteLLM's price list, which is read without importing LiteLLM.

The list is a file of several megabytes inside LiteLLM's package. One model's entry is found by its name
in the raw bytes and parsed alone: a millisecond or two, once a model. What is not known is None, never 0.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agent_chat.core.model import Usage
from agent_chat.models.loose import mapping

FILE = "model_prices_and_context_window_backup.json"


class Pricing:
    """The price and the context window of one model, as LiteLLM names it.

    `own` is the user's `model_info`; what it says comes before the list. The list is read at the first
    question, or ahead of it by `prefetch`.
    """

    def __init__(self, model: str, own: Mapping[str, Any] | None = None) -> None:
        self._model = model
        self._own = dict(own or {})
        self._known: dict[str, Any] | None = None
        self._reader: threading.Thread | None = None

    def prefetch(self) -> None:
        """Reads the list in the background, while there is nothing else to do."""
        if self._known is None and self._reader is None:
            self._reader = threading.Thread(target=self._read, name="read-prices", daemon=True)
            self._reader.start()

    def _read(self) -> None:
        self._known = {**(listed(self._model) or {}), **self._own}

    @property
    def info(self) -> Mapping[str, Any]:
        """The entry in LiteLLM's terms; empty where the model is unknown."""
        if self._reader is not None:
            self._reader.join()
            self._reader = None
        if self._known is None:
            self._read()
        return self._known or {}

    @property
    def context_window(self) -> int | None:
        """Tokens of input that the model takes."""
        for name in ("max_input_tokens", "max_tokens"):
            value = self.info.get(name)
            if isinstance(value, int | float) and value > 0:
                return int(value)
        return None

    def cost(self, usage: Usage | None, raw: Mapping[str, Any] | None = None) -> float | None:
        """US dollars. `raw` is the usage as the provider wrote it, for what only some of them count."""
        if usage is None:
            return None
        rates = _Rates(self.info, usage.prompt)
        into, out = rates.of("input_cost_per_token"), rates.of("output_cost_per_token")
        if into is None or out is None:
            return self._told(raw)
        written = (raw or {}).get("cache_creation_input_tokens")
        written = min(written, usage.prompt - usage.cached) if isinstance(written, int) else 0
        read_rate = rates.of("cache_read_input_token_cost")
        write_rate = rates.of("cache_creation_input_token_cost")
        think_rate = rates.of("output_cost_per_reasoning_token")
        return (
            (usage.prompt - usage.cached - written) * into
            + usage.cached * (into if read_rate is None else read_rate)
            + written * (into if write_rate is None else write_rate)
            + (usage.completion - usage.reasoning) * out
            + usage.reasoning * (out if think_rate is None else think_rate)
        )

    def _told(self, raw: Mapping[str, Any] | None) -> float | None:
        """OpenRouter, whose prices are on no list, says with the usage what it charged."""
        told = (raw or {}).get("cost")
        is_dollars = self._model.startswith("openrouter/") and isinstance(told, int | float)
        return float(told) if is_dollars and told is not None else None


class _Rates:
    """Rates as they are for a prompt of this many tokens: some models cost more beyond a threshold."""

    def __init__(self, info: Mapping[str, Any], prompt: int) -> None:
        self._info = info
        self._prompt = prompt
        self._tiers = [(key, value) for key, value in info.items() if "_above_" in key]

    def of(self, name: str) -> float | None:
        beyond = [
            (threshold, value)
            for key, value in self._tiers
            if (threshold := _threshold(key, name)) is not None and self._prompt > threshold
        ]
        value = max(beyond)[1] if beyond else self._info.get(name)
        return float(value) if isinstance(value, int | float) else None


def _threshold(key: str, name: str) -> int | None:
    """The tokens in a key such as `input_cost_per_token_above_200k_tokens`."""
    rest = key.removeprefix(f"{name}_above_")
    if rest == key or not rest.endswith("k_tokens"):
        return None
    thousands = rest.removesuffix("k_tokens")
    return int(thousands) * 1000 if thousands.isdigit() else None


@lru_cache(maxsize=64)
def listed(model: str) -> Mapping[str, Any] | None:
    """The entry of a model in LiteLLM's list; None where there is none, or no list."""
    content = _content()
    entry = _entry(content, model)
    provider, _, bare = model.partition("/")
    if entry is None and bare:
        # Entries of some providers stand under the bare name.
        entry = _entry(content, bare)
        if entry is not None and not str(entry.get("litellm_provider", "")).startswith(provider):
            return None
    return entry


def _entry(content: bytes, name: str) -> Mapping[str, Any] | None:
    start = content.find(f"\n    {json.dumps(name)}: {{".encode())
    if start < 0:
        return None
    opening = content.index(b"{", start)
    ending = content.find(b"\n    }", opening)
    try:
        entry = mapping(json.loads(content[opening : ending + 6]))
    except ValueError:
        return None
    owner = entry.get("alias_of")
    return _entry(content, owner) if isinstance(owner, str) and owner != name else entry


def _content() -> bytes:
    path = price_list()
    if path is None:
        return b""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def price_list() -> Path | None:
    """LiteLLM's list, found without importing it."""
    spec = find_spec("litellm")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).with_name(FILE)


@lru_cache(maxsize=1)
def known_providers() -> frozenset[str]:
    """The prefixes that LiteLLM knows, as far as its list has models of them."""
    found = re.findall(rb'"litellm_provider": "([\w-]+)"', _content())
    return frozenset(name.decode() for name in found)
