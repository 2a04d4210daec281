"""Checks arguments against the schema that a server gave.

The schema is somebody else's: nothing is fetched for it, and its regular expressions are left to the server,
since one can be written that takes forever.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from agent_chat.core.text import storable

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

MOST_ERRORS = 5
LONGEST_ERROR = 300


class ArgumentCheck:
    """Made when first used: what it needs is imported then."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = dict(schema)

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as they are. Raises ValueError that tells the model what is wrong."""
        given = dict(arguments)
        errors: list[str] = []
        if self._validator is not None:
            try:
                for error in self._validator.iter_errors(given):  # pyright: ignore[reportUnknownMemberType]
                    errors.append(_told(error.json_path, error.message))
                    if len(errors) == MOST_ERRORS:
                        break
            except Exception:
                return given  # The schema is broken or endless; the server decides.
        if errors:
            raise ValueError("; ".join(errors))
        return given

    @cached_property
    def _validator(self) -> Validator | None:
        from jsonschema import Draft202012Validator, validators
        from referencing import Registry

        def skip(*_: object) -> None:
            return None

        base = validators.validator_for(self._schema, default=Draft202012Validator)
        quick = validators.extend(base, {"pattern": skip, "patternProperties": skip, "format": skip})  # pyright: ignore
        extra = base.VALIDATORS.get("additionalProperties")

        def additional(validator: Any, allowed: Any, instance: Any, schema: Any) -> Any:
            if extra is None or "patternProperties" in schema:
                return ()
            return extra(validator, allowed, instance, schema)

        quick = validators.extend(quick, {"additionalProperties": additional})  # pyright: ignore
        try:
            return cast("Validator", quick(self._schema, registry=Registry()))  # pyright: ignore
        except Exception:
            return None


def _told(path: str, message: str) -> str:
    text = storable(message)
    shown = text if len(text) <= LONGEST_ERROR else f"{text[:LONGEST_ERROR]}…"
    where = path.removeprefix("$").removeprefix(".")
    return f"{where}: {shown}" if where else shown
