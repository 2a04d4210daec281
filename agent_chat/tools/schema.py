"""The parameters of a tool: the JSON Schema that models read, and the reading of what they write."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, NotRequired, cast, get_args, get_origin

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from pydantic_core import ErrorDetails, to_jsonable_python
from typing_extensions import TypedDict

from agent_chat.core.text import storable
from agent_chat.tools.invalid import explain
from agent_chat.tools.schema_cleaning import clean

REQUIRED = inspect.Parameter.empty
_NOTHING = {"", "null", "none", "undefined"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that the model fills in."""

    name: str
    annotation: Any
    default: Any = REQUIRED
    description: str = ""
    """Used where the annotation has none of its own."""

    @property
    def required(self) -> bool:
        return self.default is REQUIRED


class Arguments:
    """Everything is built on first use; building costs about a millisecond a tool."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self._parameters = {parameter.name: parameter for parameter in parameters}

    @cached_property
    def schema(self) -> dict[str, Any]:
        """A JSON Schema of type object, without titles; `$defs` only for types that contain themselves."""
        schema = clean(self._adapter.json_schema())
        properties: dict[str, dict[str, Any]] = schema.setdefault("properties", {})
        for name, shape in properties.items():
            parameter = self._parameters[name]
            if parameter.description:
                shape.setdefault("description", parameter.description)
            if not parameter.required and parameter.default is not None:
                shape.setdefault("default", to_jsonable_python(parameter.default, fallback=str))
        ordered = {"type": "object", "properties": properties}
        return ordered | {key: value for key, value in schema.items() if key not in ordered}

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as JSON-compatible values. Raises ValueError with a text for the model."""
        return self._adapter.dump_python(self.read(arguments), mode="json", warnings=False)

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the function takes them; what was not given is not there. Raises ValueError."""
        arguments = _storable(dict(arguments))
        try:
            return self._adapter.validate_python(arguments)
        except ValidationError as first:
            details = first.errors(include_url=False)
        try:
            return self._adapter.validate_python(self._repair(arguments, details))
        except ValidationError as error:
            details = error.errors(include_url=False)
        raise ValueError(explain(details, arguments, self.schema))

    @cached_property
    def _adapter(self) -> TypeAdapter[dict[str, Any]]:
        fields = {
            name: described(parameter.annotation)
            if parameter.required
            else NotRequired[described(parameter.annotation)]
            for name, parameter in self._parameters.items()
        }
        shape: Any = cast("Any", TypedDict)("Arguments", fields)
        config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)
        return TypeAdapter(with_config(config)(shape))

    def _repair(self, arguments: Mapping[str, Any], details: Sequence[ErrorDetails]) -> dict[str, Any]:
        """What small models mean by what they write, where it is beyond doubt."""
        repaired = dict(arguments)
        for name in {str(detail["loc"][0]) for detail in details if detail["loc"]} & set(repaired):
            value = repaired[name]
            parameter = self._parameters.get(name)
            if parameter is None:
                if value is None:
                    del repaired[name]
            elif not parameter.required and _says_nothing(value):
                del repaired[name]
            else:
                repaired[name] = _closer(value, self.schema["properties"][name])
        return repaired


def described(annotation: Any) -> Any:
    """The annotation with a bare text in `Annotated[T, "text"]` as the description of the parameter."""
    if get_origin(annotation) is not Annotated:
        return annotation
    kind, *metadata = get_args(annotation)
    texts = [item for item in metadata if isinstance(item, str)]
    if not texts:
        return annotation
    others = [item for item in metadata if not isinstance(item, str)]
    return Annotated[(kind, Field(description=" ".join(texts)), *others)]


def _storable(value: Any) -> Any:
    """The value with every text in it as it can be kept and sent."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(key): _storable(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_storable(item) for item in cast("list[Any]", value)]
    return value


def _says_nothing(value: object) -> bool:
    return value is None or (isinstance(value, str) and value.strip().lower() in _NOTHING)


def _closer(value: Any, shape: Mapping[str, Any]) -> Any:
    """An object or list written as text is read; one value where a list is wanted becomes a list of one."""
    if isinstance(value, str):
        try:
            written = json.loads(value)
        except (ValueError, RecursionError):
            written = None
        if isinstance(written, dict | list):
            return cast("Any", written)
    if shape.get("type") == "array" and isinstance(value, str | int | float):
        return [value]
    return value
