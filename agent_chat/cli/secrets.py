"""What is secret here: keys in the environment and in the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from agent_chat.cli.load_settings import Loaded
from agent_chat.cli.settings_check import is_secret
from agent_chat.core.redaction import Redactor, from_environment

_REFERENCE = "os.environ/"


def redactor(loaded: Loaded) -> Redactor:
    """The filter for all that a session under these settings keeps, shows and sends."""
    return from_environment(loaded.environ, _written(loaded.tree.plain(), loaded))


def masking(tell: Callable[[str], None], redact: Redactor) -> Callable[[str], None]:
    """`tell`, which is then given no credentials."""
    return lambda text: tell(redact(text))


def _written(value: Any, loaded: Loaded, *, secret: bool = False) -> Iterator[str]:
    """Values of settings that are named like a secret, and of the variables that they name."""
    match value:
        case dict():
            for key, item in cast("dict[str, Any]", value).items():
                yield from _written(item, loaded, secret=is_secret(str(key)))
        case list() | tuple():
            for item in cast("list[Any]", value):
                yield from _written(item, loaded, secret=secret)
        case str() if secret and value.startswith(_REFERENCE):
            yield loaded.environ.get(value.removeprefix(_REFERENCE), "").strip()
        case str() if secret:
            yield value.strip()
        case _:
            pass
