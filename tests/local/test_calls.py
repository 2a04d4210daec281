import pytest

from agent_chat.local.calls import Call, CallDeltas, repeats


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


def test_deltas_of_several_calls_are_put_together() -> None:
    deltas = CallDeltas()
    deltas.add([{"index": 0, "id": "a", "function": {"name": "calc", "arguments": "{"}}])
    deltas.add(
        [{"index": 1, "id": "b", "function": {"name": "now"}}, {"index": 0, "function": {"arguments": "}"}}]
    )
    assert deltas.all() == (Call("a", "calc", "{}"), Call("b", "now", ""))
    assert deltas.whole() == (Call("a", "calc", "{}"),)


def test_the_same_call_twice_in_one_reply_is_one() -> None:
    deltas = CallDeltas()
    for index, arguments in enumerate(('{"x": 1, "y": 2}', '{"y": 2, "x": 1}')):
        deltas.add([{"index": index, "id": str(index), "function": {"name": "f", "arguments": arguments}}])
    assert len(deltas.all()) == 1


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
