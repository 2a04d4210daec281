"""Names of the variables that hold the models' keys: those that no tool is to see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from agent_chat.cli.load_settings import Loaded

_REFERENCE = "os.environ/"


def model_key_variables(loaded: Loaded) -> frozenset[str]:
    """Those of the providers that we know, and those that the configuration refers to."""
    from agent_chat.models.catalog import providers

    known = (name for provider in providers().values() for name in provider.keys)
    return frozenset((*known, *_references(loaded.litellm)))


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if value.startswith(_REFERENCE):
            yield value.removeprefix(_REFERENCE)
    elif isinstance(value, dict):
        for item in cast("dict[Any, Any]", value).values():
            yield from _references(item)
    elif isinstance(value, list | tuple):
        for item in cast("list[Any]", value):
            yield from _references(item)
