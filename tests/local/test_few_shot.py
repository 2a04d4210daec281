import copy
import json
from typing import Any

import pytest

from agent_chat.local.few_shot import calls_only, in_words, offered_names, prepare, shared_prefix


def tool(name: str, *parameters: str, **more: Any) -> dict[str, Any]:
    properties = {parameter: {"type": "string", "title": parameter.title()} for parameter in parameters}
    schema = {"type": "object", "properties": properties, "required": list(parameters), **more}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": schema}}


CALC, NOW = tool("calc", "expression"), tool("now", "timezone")
USER = {"role": "user", "content": "hi"}
SYSTEM = {"role": "system", "content": "Be brief."}


def body(*tools: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"messages": [SYSTEM, USER], "tools": list(tools), **more}


def called(messages: list[dict[str, Any]]) -> set[str]:
    return {call["function"]["name"] for message in messages for call in message.get("tool_calls", ())}


def test_without_tools_the_messages_are_the_users() -> None:
    prepared = prepare({"messages": [USER]})
    assert prepared["messages"] == [USER]
    assert prepared["temperature"] == 0
    assert prepared["max_tokens"] > 0


def test_the_request_itself_is_left_as_it_is() -> None:
    request = body(CALC, NOW)
    before = copy.deepcopy(request)
    prepare(request)
    assert request == before


def test_examples_stand_between_the_system_message_and_the_conversation() -> None:
    messages = prepare(body(CALC, NOW))["messages"]
    assert messages[0]["role"] == "system"
    assert messages[0]["content"].startswith("Be brief.\n\n")
    assert messages[-1] == USER
    assert called(messages[1:-1]) == {"calc", "now"}


@pytest.mark.parametrize("tools", [[CALC], [tool("now", "zone")], [tool("calc", "formula")], [tool("other")]])
def test_an_example_needs_all_its_tools_and_their_parameters(tools: list[dict[str, Any]]) -> None:
    assert called(prepare(body(*tools))["messages"]) == set()


def test_where_no_example_calls_a_tool_there_is_none() -> None:
    assert prepare(body(tool("other")))["messages"][1:] == [USER]


def test_guidance_names_a_tool_only_where_it_is_offered() -> None:
    assert "end_chat" not in prepare(body(CALC))["messages"][0]["content"]
    assert "end_chat" in prepare(body(tool("end_chat", "message")))["messages"][0]["content"]


def test_examples_are_well_formed() -> None:
    names = ("read_file", "path"), ("list_files", "path"), ("search_text", "query"), ("end_chat",)
    messages = prepare(body(CALC, NOW, *(tool(*name) for name in names)))["messages"]
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == open_calls.pop(0)
            continue
        assert not open_calls
        open_calls = [call["id"] for call in message.get("tool_calls", ())]
        for call in message.get("tool_calls", ()):
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
    assert called(messages) == {"calc", "now", *(name for name, *_ in names)}


def test_the_prefix_does_not_depend_on_the_conversation() -> None:
    short, long = prepare(body(CALC, NOW)), prepare(body(CALC, NOW, tool_choice="none"))
    long["messages"] += [{"role": "assistant", "content": "x"}, USER]
    assert long["messages"][: len(short["messages"])] == short["messages"]
    assert short["tools"] == long["tools"]


def test_what_requests_share_has_nothing_of_the_conversation() -> None:
    request = body(CALC, NOW)
    shared = shared_prefix({**request, "messages": [SYSTEM, {"role": "user", "content": "a secret"}, USER]})
    assert shared["messages"][:-1] == prepare(request)["messages"][:-1]
    assert shared["messages"][-1] == {"role": "user", "content": "?"}
    assert shared == shared_prefix(request)


def test_a_system_message_in_parts_is_joined_and_a_missing_one_is_made() -> None:
    parts = [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]
    request = {"messages": [{"role": "system", "content": parts}, USER], "tools": [CALC]}
    assert prepare(request)["messages"][0]["content"].startswith("One.\nTwo.\n\n")
    assert prepare({"messages": [USER], "tools": [CALC]})["messages"][0]["role"] == "system"


def brief(offered: dict[str, Any]) -> dict[str, Any]:
    """How `offered` is told to the model."""
    (told,) = prepare(body(offered))["tools"]
    return told["function"]


def described(name: str, *required: str, **descriptions: str) -> dict[str, Any]:
    offered = tool(name, *descriptions, required=list(required))
    properties = offered["function"]["parameters"]["properties"]
    for parameter, description in descriptions.items():
        properties[parameter] |= {"description": description, "default": "x"}
    offered["function"]["description"] = "Does one thing. And this is how: at length."
    return offered


def test_of_a_tool_that_examples_show_only_what_they_use_is_told() -> None:
    told = brief(described("read_file", "path", path="a path", encoding="its encoding", limit="lines"))
    assert told["description"] == "Does one thing."
    assert told["parameters"]["properties"] == {"path": {"type": "string"}}


def test_any_other_tool_keeps_its_parameters_and_is_told_what_the_required_ones_are() -> None:
    told = brief(described("send", "to", to="whom, as an address", subject="in a few words"))
    assert told["parameters"]["properties"] == {
        "to": {"type": "string", "description": "whom"},
        "subject": {"type": "string"},
    }


def test_a_tool_that_a_small_model_can_do_without_is_offered_only_by_name() -> None:
    ask = tool("ask_user", "question")
    assert offered_names(prepare(body(CALC, ask))) == {"calc"}
    assert "tools" not in prepare(body(ask))
    choice = {"type": "function", "function": {"name": "ask_user"}}
    assert offered_names(prepare(body(CALC, ask, tool_choice=choice))) == {"ask_user"}


def test_schemas_lose_titles_but_not_a_property_named_title() -> None:
    offered = tool("note", "title", additionalProperties=False, title="Note")
    parameters = prepare(body(offered))["tools"][0]["function"]["parameters"]
    assert parameters == {
        "type": "object",
        "properties": {"title": {"type": "string"}},
        "required": ["title"],
    }


def test_a_named_choice_becomes_that_tool_required() -> None:
    prepared = prepare(body(CALC, NOW, tool_choice={"type": "function", "function": {"name": "now"}}))
    assert [offered["function"]["name"] for offered in prepared["tools"]] == ["now"]
    assert prepared["tool_choice"] == "required"


def test_the_request_decides_temperature_and_length() -> None:
    prepared = prepare(body(CALC, temperature=0.7, max_completion_tokens=9))
    assert prepared["temperature"] == 0.7
    assert prepared["max_tokens"] == 9
    assert "max_completion_tokens" not in prepared


def test_in_words_keeps_the_prefix_and_takes_the_calls_away() -> None:
    prepared = prepare(body(CALC))
    again = in_words(prepared)
    assert again["messages"][:-1] == prepared["messages"]
    assert offered_names(prepared) == {"calc"}
    assert offered_names(again) == set()


def test_calls_are_held_to_the_schemas_of_their_tools() -> None:
    shape = {"$ref": "#/$defs/Zone"}
    zones = {"Zone": {"enum": ["UTC"]}, "Unused": {"$ref": "#/$defs/Zone"}}
    schema = {"type": "object", "properties": {"zone": shape}, "$defs": zones}
    clock = {"type": "function", "function": {"name": "clock", "description": "", "parameters": schema}}
    request = calls_only(prepare(body(clock, {"type": "function", "function": {"name": "bare"}})))
    clock_form, bare_form = request["lines_schema"]["anyOf"]
    assert clock_form["properties"]["name"] == {"const": "clock"}
    assert clock_form["properties"]["arguments"]["properties"] == {"zone": {"$ref": "#/$defs/clock.Zone"}}
    assert clock_form["properties"]["arguments"]["additionalProperties"] is False
    assert bare_form["properties"]["arguments"]["properties"] == {}
    assert request["lines_schema"]["$defs"] == {
        "clock.Zone": {"enum": ["UTC"]},
        "clock.Unused": {"$ref": "#/$defs/clock.Zone"},
    }
    assert schema["$defs"] is zones
