"""JSON Schemas as models and providers like them: short, and whole in themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

Schema = dict[str, Any]

_PREFIX = "#/$defs/"


def clean(schema: Mapping[str, Any]) -> Schema:
    """Without titles; definitions put in place, but for those that contain themselves; no null where leaving
    the parameter out says the same."""
    definitions: Mapping[str, Any] = schema.get("$defs", {})
    cleaner = _Cleaner(definitions)
    cleaned = cleaner.node({key: value for key, value in schema.items() if key != "$defs"}, ())
    kept: Schema = {}
    while missing := cleaner.recursive - kept.keys():
        for name in sorted(missing):
            kept[name] = cleaner.node(definitions[name], (name,))
    return cleaned | {"$defs": kept} if kept else cleaned


class _Cleaner:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self.recursive: set[str] = set()
        """Definitions that contain themselves: they stay definitions."""

    def node(self, schema: Mapping[str, Any], inside: tuple[str, ...]) -> Schema:
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith(_PREFIX):
            name = reference.removeprefix(_PREFIX)
            if name in inside:
                self.recursive.add(name)
                return {key: value for key, value in schema.items() if key != "title"}
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            return self.node({**self._definitions[name], **beside}, (*inside, name))
        return {
            key: self._value(key, value, inside)
            for key, value in _without_null(schema).items()
            if key != "title"
        }

    def _value(self, key: str, value: Any, inside: tuple[str, ...]) -> Any:
        if key in {"default", "const", "enum", "examples"}:
            return value
        if isinstance(value, list):
            return [self._item(item, inside) for item in cast("list[Any]", value)]
        if not isinstance(value, dict):
            return value
        if key in {"properties", "patternProperties"}:
            # Its keys are names of parameters, also where one is called "title".
            properties = cast("dict[str, Any]", value)
            return {name: self._item(item, inside) for name, item in properties.items()}
        return self._item(value, inside)

    def _item(self, item: Any, inside: tuple[str, ...]) -> Any:
        return self.node(cast("Schema", item), inside) if isinstance(item, dict) else item


def _without_null(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """`T | None = None`, as a schema: T, with nothing said of null."""
    variants = schema.get("anyOf")
    if not isinstance(variants, list) or schema.get("default", None) is not None:
        return schema
    others = [item for item in cast("list[Schema]", variants) if item.get("type") != "null"]
    if len(others) == len(cast("list[Schema]", variants)) or not others:
        return schema
    beside = {key: value for key, value in schema.items() if key not in {"anyOf", "default"}}
    return {**others[0], **beside} if len(others) == 1 else {**beside, "anyOf": others}
