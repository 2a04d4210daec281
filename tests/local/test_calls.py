import pytest

from agent_chat.local.calls import Call, read_calls, repeats


def made(id_: str, name: str, arguments: str) -> dict[str, object]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def history(*calls: dict[str, object], answered: tuple[str, ...]) -> list[dict[str, object]]:
    return [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "", "tool_calls": list(calls)},
        *({"role": "tool", "tool_call_id": id_, "content": "r"} for id_ in answered),
    ]


NOW = made("a", "now", '{"timezone": "UTC", "form": "iso"}')
CALC = made("b", "calc", '{"expression": "1"}')


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (
            '{"name": "a", "arguments": {"x": 1}}\n{"name": "b", "arguments": {}}',
            [("a", '{"x": 1}'), ("b", "{}")],
        ),
        ('{"name":"a","arguments":{"x":1}}\n{"name": "a", "arguments": {"x": 1}}', [("a", '{"x":1}')]),
        (
            '{"name": "a", "arguments": {"name": "b", "arguments": {}}}',
            [("a", '{"name": "b", "arguments": {}}')],
        ),
        ('{"name": "a", "arguments": {"x": "cut', [("a", '{"x": "cut')]),
        ("nothing", []),
    ],
)
def test_calls_are_read_from_text(text: str, calls: list[tuple[str, str]]) -> None:
    found = read_calls(text)
    assert [(call.name, call.arguments) for call in found] == calls
    assert len({call.id for call in found}) == len(calls)


@pytest.mark.parametrize(
    ("calls", "answered", "repeated"),
    [
        ([("now", '{"form":"iso","timezone":"UTC"}')], ("a", "b"), True),
        ([("now", '{"form":"iso","timezone":"UTC"}'), ("calc", '{"expression": "1"}')], ("a", "b"), True),
        ([("now", '{"timezone": "UTC"}')], ("a", "b"), False),
        ([("now", '{"form":"iso","timezone":"UTC"}'), ("calc", '{"expression": "2"}')], ("a", "b"), False),
        ([("calc", '{"expression": "1"}')], ("a",), False),
        ([("calc", "{broken")], ("a", "b"), False),
        ([], ("a", "b"), False),
    ],
)
def test_what_repeats(calls: list[tuple[str, str]], answered: tuple[str, ...], repeated: bool) -> None:
    asked = [Call("new", *call) for call in calls]
    assert repeats(asked, history(NOW, CALC, answered=answered)) is repeated


def test_a_call_from_before_the_last_user_message_is_no_repetition() -> None:
    messages = [*history(NOW, answered=("a",)), {"role": "user", "content": "again"}]
    assert not repeats([Call("new", "now", '{"timezone": "UTC", "form": "iso"}')], messages)
