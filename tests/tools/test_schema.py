"""What models read of a function's parameters, and how what they write is read."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from agent_chat.tools.tool import as_tool


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Item(BaseModel):
    title: str
    count: int = 1


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


def search(
    query: Annotated[str, "what to find"],
    limit: Annotated[int, Field(ge=1, le=50, description="how many")] = 10,
    since: int | None = None,
    mode: Literal["fast", "deep"] = "fast",
) -> None:
    """Searches the archive.

    In all volumes.

    Args:
        query: not this text
        since: a year; the
            first one when left out
        mode (str): how hard to look

    Returns:
        Nothing.
    """


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    return dict(as_tool(function).spec.parameters)


def test_the_schema_is_what_a_model_needs_and_no_more() -> None:
    spec = as_tool(search).spec
    assert spec.description == "Searches the archive.\n\nIn all volumes."
    assert spec.parameters == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "what to find"},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": 50,
                "description": "how many",
                "default": 10,
            },
            "since": {"type": "integer", "description": "a year; the first one when left out"},
            "mode": {
                "enum": ["fast", "deep"],
                "type": "string",
                "description": "how hard to look",
                "default": "fast",
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    }


def test_field_lists_in_docstrings_are_read() -> None:
    def look(place: str, hard: bool = False) -> None:
        """Looks.

        :param place: where
        :param bool hard: whether to
            look twice
        :returns: nothing
        """

    spec = as_tool(look).spec
    assert spec.description == "Looks."
    properties = spec.parameters["properties"]
    assert {name: shape["description"] for name, shape in properties.items()} == {
        "place": "where",
        "hard": "whether to look twice",
    }


def store(item: Item, color: Color = Color.RED) -> None: ...


def test_nested_types_are_put_in_place_without_titles() -> None:
    schema = schema_of(store)
    assert "$defs" not in schema
    assert schema["properties"]["item"] == {
        "type": "object",
        "properties": {"title": {"type": "string"}, "count": {"type": "integer", "default": 1}},
        "required": ["title"],
    }
    assert schema["properties"]["color"] == {"enum": ["red", "blue"], "type": "string", "default": "red"}


def plant(tree: Tree) -> str:
    return tree.children[0].name


async def test_a_type_that_contains_itself_stays_a_definition() -> None:
    schema = schema_of(plant)
    assert list(schema["$defs"]) == ["Tree"]
    assert schema["$defs"]["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}


def awkward(schema: str, json: str, model_config: str, copy: int = 1, _hidden: str = "") -> str:
    return f"{schema} {json} {model_config} {copy}"


def test_names_that_pydantic_uses_itself_are_ordinary_parameters() -> None:
    assert list(schema_of(awkward)["properties"]) == ["schema", "json", "model_config", "copy", "_hidden"]
    given = {"schema": "a", "json": "b", "model_config": "c"}
    assert as_tool(awkward).validate(given) == given


def test_the_same_function_has_the_same_schema_every_time() -> None:
    assert repr(schema_of(search)) == repr(schema_of(search))


def many(
    number: int = 0,
    ratio: float = 0.0,
    flag: bool = False,
    text: str = "",
    names: list[str] | None = None,
    table: dict[str, int] | None = None,
    items: list[Item] | None = None,
) -> None: ...


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"number": "5"}, {"number": 5}),
        ({"number": 5.0}, {"number": 5}),
        ({"number": " 7 "}, {"number": 7}),
        ({"ratio": "1.5"}, {"ratio": 1.5}),
        ({"flag": "true"}, {"flag": True}),
        ({"text": 5}, {"text": "5"}),
        ({"names": '["a", "b"]'}, {"names": ["a", "b"]}),
        ({"names": "a"}, {"names": ["a"]}),
        ({"table": '{"a": "1"}'}, {"table": {"a": 1}}),
        ({"items": '[{"title": "x"}]'}, {"items": [{"title": "x", "count": 1}]}),
        ({"number": None}, {}),
        ({"number": "null"}, {}),
        ({"number": ""}, {}),
        ({"unheard_of": None}, {}),
        ({"text": "[1, 2]"}, {"text": "[1, 2]"}),
        ({"text": "null"}, {"text": "null"}),
        ({"text": "half \ud83d"}, {"text": "half �"}),
        ({"names": ["half \ud83d"]}, {"names": ["half �"]}),
    ],
)
def test_what_small_models_get_wrong_without_harm_is_read_as_it_was_meant(
    given: dict[str, Any], read: dict[str, Any]
) -> None:
    assert as_tool(many).validate(given) == read


def test_r07_no_arguments_are_fine_for_a_tool_without_parameters() -> None:
    def tick() -> None: ...

    assert as_tool(tick).validate({}) == {}
    assert schema_of(tick) == {"type": "object", "properties": {}, "additionalProperties": False}


def strict(
    path: str,
    limit: int = 10,
    mode: Literal["fast", "deep"] = "fast",
    size: Annotated[int, Field(ge=1)] = 1,
    items: list[Item] | None = None,
    either: int | list[int] = 0,
) -> None: ...


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "parameter 'path' is missing: expected text."),
        (
            {"path": "x", "limit": "many"},
            "parameter 'limit': expected a whole number, received \"many\".",
        ),
        ({"path": "x", "limit": 1.5}, "parameter 'limit': expected a whole number, received 1.5."),
        ({"path": None}, "parameter 'path': expected text, received null."),
        (
            {"path": "x", "mode": "slow"},
            'parameter \'mode\': expected one of "fast", "deep", received "slow".',
        ),
        (
            {"path": "x", "size": 0},
            "parameter 'size': should be greater than or equal to 1, received 0.",
        ),
        ({"path": "x", "items": [{"count": 1}]}, "parameter 'items[0].title' is missing."),
        (
            {"path": "x", "items": [{"title": "a", "count": {"n": 1}}]},
            "parameter 'items[0].count': should be a valid integer, received {\"n\": 1}.",
        ),
        (
            {"path": "x", "either": "both"},
            "parameter 'either': expected a whole number or a list of: a whole number, received \"both\".",
        ),
        (
            {"paht": "x"},
            (
                "parameter 'path' is missing: expected text; "
                "unknown parameter 'paht' (did you mean 'path'?); "
                "the parameters are: path (required), limit, mode, size, items, either."
            ),
        ),
    ],
)
def test_what_is_wrong_is_told_by_parameter(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="parameter") as caught:
        as_tool(strict).validate(given)
    assert str(caught.value) == message


def test_what_was_received_is_shown_in_part() -> None:
    with pytest.raises(ValueError, match="parameter 'limit'") as caught:
        as_tool(strict).validate({"path": "x", "limit": "y" * 10_000})
    assert len(str(caught.value)) < 200


def test_many_problems_are_told_in_part() -> None:
    with pytest.raises(ValueError, match="more problems") as caught:
        as_tool(strict).validate({f"unknown_{number}": "x" for number in range(50)})
    assert len(str(caught.value)) < 600


async def test_a_function_gets_values_of_the_types_it_declares() -> None:
    from support.tools import call

    def take(path: Path, color: Color, item: Item) -> str:
        return f"{path.name} {color.name} {item.count}"

    result = await call(take, path="a/b", color="blue", item={"title": "x"})
    assert result.content == "b BLUE 1"


def test_what_was_not_given_is_left_to_the_function() -> None:
    assert as_tool(search).validate({"query": "x"}) == {"query": "x"}


def test_a_field_as_a_default_is_refused_with_what_to_write() -> None:
    def wrong(size: int = Field(3, ge=1)) -> None: ...

    with pytest.raises(TypeError, match="Annotated"):
        as_tool(wrong)
