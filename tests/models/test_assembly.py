"""Replies out of chunks, however a provider sends them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.core.messages import ToolCall
from agent_chat.core.model import CallDelta, ReasoningDelta, Reply, TextDelta, Usage
from agent_chat.models.assembly import Assembly, ErrorInStream, read_usage
from agent_chat.models.surrogates import Mender, mend


def delta(fields: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def calls(*raw: dict[str, Any]) -> dict[str, Any]:
    return delta({"tool_calls": list(raw)})


def call(name: str | None, arguments: Any, **fields: Any) -> dict[str, Any]:
    return {**fields, "function": {"name": name, "arguments": arguments}}


def assemble(*chunks: Any, taken: tuple[str, ...] = ()) -> Reply:
    assembly = Assembly()
    for chunk in chunks:
        assembly.feed(chunk)
    return assembly.reply("m", taken)


def pairs(reply: Reply) -> list[tuple[str, str]]:
    return [(one.name, one.arguments) for one in reply.calls]


A, B = '{"text":"a"}', '{"text":"b"}'


def test_r01_calls_with_neither_index_nor_id_are_apart_and_get_ids_of_their_own() -> None:
    reply = assemble(calls(call("echo", A)), calls(call("echo", B)), delta({}, "tool_calls"))
    assert pairs(reply) == [("echo", A), ("echo", B)]
    ids = [one.id for one in reply.calls]
    assert all(name.startswith("call_") for name in ids)
    assert len(set(ids)) == 2


def test_r01_pieces_with_neither_index_nor_id_go_on_with_the_latest_call() -> None:
    reply = assemble(calls(call("echo", '{"te')), calls(call(None, 'xt":"a"}')), calls(call("echo", B)))
    assert pairs(reply) == [("echo", A), ("echo", B)]


def test_r02_interleaved_calls_with_ids_once_and_names_null_or_sent_again() -> None:
    reply = assemble(
        calls(call("echo", "", index=0, id="c1")),
        calls(call("nap", "", index=1, id="c2")),
        calls(call(None, '{"te', index=0)),
        calls(call("nap", '{"seconds":0,', index=1)),
        calls(call("echo", 'xt":"a"}', index=0, id="")),
        calls({"index": 1, "function": {"arguments": '"tag":"z"}'}}),
    )
    assert reply.calls == (ToolCall("c1", "echo", A), ToolCall("c2", "nap", '{"seconds":0,"tag":"z"}'))


def test_r02_two_calls_that_share_an_index_are_told_apart_by_id() -> None:
    reply = assemble(
        calls(call("echo", '{"te', index=0, id="c1")),
        calls(call(None, 'xt":"a"}', index=0)),
        calls(call("echo", B, index=0, id="c2")),
    )
    assert reply.calls == (ToolCall("c1", "echo", A), ToolCall("c2", "echo", B))


def test_r02_two_calls_that_share_an_index_and_have_no_id_are_told_apart_by_being_whole() -> None:
    reply = assemble(calls(call("echo", A, index=0)), calls(call("echo", B, index=0)))
    assert pairs(reply) == [("echo", A), ("echo", B)]


def test_r02_an_id_that_is_sent_with_every_piece_is_one_call() -> None:
    reply = assemble(
        calls(call("echo", '{"te', id="c1")),
        calls(call("tick", "", id="c2")),
        calls(call(None, 'xt":"a"}', id="c1")),
    )
    assert reply.calls == (ToolCall("c1", "echo", A), ToolCall("c2", "tick", ""))


def test_an_id_used_twice_in_one_reply_is_replaced_the_second_time() -> None:
    reply = assemble(calls(call("echo", A, index=0, id="x")), calls(call("echo", B, index=1, id="x")))
    assert pairs(reply) == [("echo", A), ("echo", B)]
    first, second = (one.id for one in reply.calls)
    assert first == "x"
    assert second not in ("", "x")


def test_an_id_that_the_history_has_already_is_replaced() -> None:
    reply = assemble(calls(call("echo", A, index=0, id="call_0")), taken=("call_0",))
    assert reply.calls[0].id not in ("", "call_0")


def test_arguments_given_as_an_object_become_text() -> None:
    reply = assemble(calls(call("echo", {"text": "ä"}, index=0, id="c1")))
    assert pairs(reply) == [("echo", '{"text": "ä"}')]


def test_a_long_text_sent_with_its_name_every_time_is_one_call() -> None:
    pieces = ['{"text":"', *["}{" * 5] * 50, '"}']
    reply = assemble(*(calls(call("echo", piece, index=0, id="c1")) for piece in pieces))
    assert pairs(reply) == [("echo", "".join(pieces))]


def test_r05_chunks_without_choices_null_content_and_usage_last() -> None:
    assembly = Assembly()
    chunks: list[dict[str, Any]] = [
        {"choices": []},
        delta({"role": "assistant", "content": None}),
        delta({"content": "hi"}),
        delta({}),
        delta({}, "stop"),
        {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 2}},
    ]
    shown = [assembly.feed(chunk) for chunk in chunks]
    assert shown == [(), (), (TextDelta("hi"),), (), (), ()]
    reply = assembly.reply("m")
    assert (reply.text, reply.finish_reason, reply.usage) == ("hi", "stop", Usage(11, 0, 2, 0))


def test_r07_empty_arguments_stay_empty() -> None:
    assert pairs(assemble(calls(call("tick", "", index=0, id="c1")))) == [("tick", "")]
    assert pairs(assemble(calls({"index": 0, "id": "c1", "function": {"name": "tick"}}))) == [("tick", "")]


def test_a_whole_message_in_a_chunk() -> None:
    message = {
        "role": "assistant",
        "content": "both",
        "reasoning_content": "why",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "echo", "arguments": A}},
            {"id": "c1", "type": "function", "function": {"name": "echo", "arguments": B}},
        ],
    }
    reply = assemble({"choices": [{"message": message, "finish_reason": "tool_calls"}]})
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("both", "why", "tool_calls")
    assert pairs(reply) == [("echo", A), ("echo", B)]


ERRORS: list[dict[str, Any]] = [
    {"error": {"message": "busy"}},
    {"error": "busy"},
    {"object": "error", "message": "busy"},
    {"choices": [{"delta": {}, "finish_reason": "error"}], "error": {"message": "busy"}},
    {"choices": [{"delta": {}, "finish_reason": "error"}]},
]


@pytest.mark.parametrize("chunk", ERRORS)
def test_r16_an_error_in_a_chunk_is_raised(chunk: dict[str, Any]) -> None:
    with pytest.raises(ErrorInStream):
        Assembly().feed(chunk)


def test_chunks_of_any_other_shape_are_passed_over() -> None:
    rubbish: list[Any] = [
        None,
        [],
        "text",
        {},
        {"choices": None},
        {"choices": ["x"]},
        {"choices": [{"delta": None}]},
        {"choices": [{"delta": {"tool_calls": ["x", {}, {"function": None}]}}]},
        {"choices": [{"delta": {"content": 7}}], "usage": "none"},
    ]
    assembly = Assembly()
    for chunk in rubbish:
        assembly.feed(chunk)
    assert assembly.reply("m").text == ""


def test_r12_reasoning_is_shown_and_kept_exactly() -> None:
    block = {"type": "thinking", "thinking": "r1", "signature": "sigA"}
    assembly = Assembly()
    shown = assembly.feed(delta({"reasoning_content": "r1", "thinking_blocks": [block]}))
    assert shown == (ReasoningDelta("r1"),)
    reply = assembly.reply("m")
    assert reply.extras == {"reasoning_content": "r1", "thinking_blocks": [block]}
    assert reply.reasoning == "r1"


def test_r12_thinking_blocks_in_pieces_are_joined_up_to_their_signature() -> None:
    def piece(**fields: Any) -> dict[str, Any]:
        return delta({"thinking_blocks": [{"type": "thinking", **fields}]})

    reply = assemble(
        piece(thinking="a"),
        piece(thinking="b"),
        piece(thinking="", signature="sig"),
        delta({"thinking_blocks": [{"type": "redacted_thinking", "data": "x"}]}),
        delta({"thinking_blocks": [{"type": "redacted_thinking", "data": "y"}]}),
        piece(thinking="c"),
        piece(signature="sig2"),
    )
    assert reply.extras["thinking_blocks"] == [
        {"type": "thinking", "thinking": "ab", "signature": "sig"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "redacted_thinking", "data": "y"},
        {"type": "thinking", "thinking": "c", "signature": "sig2"},
    ]
    assert reply.reasoning == "abc"


def test_r12_reasoning_details_are_joined_by_their_index() -> None:
    def piece(index: int, text: str) -> dict[str, Any]:
        return delta({"reasoning_details": [{"type": "reasoning.text", "text": text, "index": index}]})

    reply = assemble(piece(0, "a"), piece(0, "b"), piece(1, "c"))
    assert reply.extras["reasoning_details"] == [
        {"type": "reasoning.text", "text": "ab", "index": 0},
        {"type": "reasoning.text", "text": "c", "index": 1},
    ]


def test_r12_signatures_beside_a_call_are_kept_with_it() -> None:
    reply = assemble(
        calls(call("echo", A, index=0, id="c1", extra_content={"google": {"thought_signature": "s"}}))
    )
    assert reply.extras == {"tool_calls": {"c1": {"extra_content": {"google": {"thought_signature": "s"}}}}}


def test_fields_that_carry_no_reasoning_do_not_travel_back() -> None:
    assert assemble(delta({"content": "x", "annotations": [1], "channel": "final"})).extras == {}


def test_a_refusal_is_text() -> None:
    assert assemble(delta({"content": None, "refusal": "I will not."})).text == "I will not."


def test_content_as_a_list_of_parts_is_text() -> None:
    assert assemble(delta({"content": [{"type": "text", "text": "a"}, {"type": "x"}]})).text == "a"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (None, None),
        ({}, None),
        ({"total_tokens": 3}, None),
        ({"prompt_tokens": None, "completion_tokens": "x"}, None),
        ({"prompt_tokens": 5, "completion_tokens": 1}, Usage(5, 0, 1, 0)),
        (
            {
                "prompt_tokens": 5,
                "completion_tokens": 4,
                "prompt_tokens_details": {"cached_tokens": 2},
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
            Usage(5, 2, 4, 3),
        ),
        ({"prompt_tokens": 5, "completion_tokens": 4, "prompt_cache_hit_tokens": 3}, Usage(5, 3, 4, 0)),
        ({"prompt_tokens": 5, "completion_tokens": 4, "prompt_tokens_details": None}, Usage(5, 0, 4, 0)),
    ],
)
def test_usage(raw: Any, expected: Usage | None) -> None:
    assert read_usage(raw) == expected


def test_a_character_cut_in_half_between_two_chunks_is_whole() -> None:
    assembly = Assembly()
    shown = [assembly.feed(delta({"content": piece})) for piece in ("a\ud83d", "\ude00b", "\ud83d")]
    assert shown == [(TextDelta("a"),), (TextDelta("😀b"),), ()]
    assert assembly.reply("m").text == "a😀b\ufffd"


@given(st.text(st.characters() | st.characters(categories=["Cs"])), st.integers(1, 5))
def test_mending_in_pieces_is_mending_the_whole(text: str, size: int) -> None:
    mender = Mender()
    pieces = [mender.feed(text[start : start + size]) for start in range(0, len(text), size)]
    mended = "".join(pieces) + mender.end()
    assert mended == mend(text)
    mended.encode("utf-8")


@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "index": st.none() | st.integers(0, 3),
                "id": st.none() | st.sampled_from(["", "a", "b"]),
                "function": st.fixed_dictionaries(
                    {},
                    optional={
                        "name": st.none() | st.sampled_from(["echo", "nap", ""]),
                        "arguments": st.none()
                        | st.text(max_size=4)
                        | st.dictionaries(st.text(), st.integers()),
                    },
                ),
            },
        ),
        max_size=12,
    )
)
def test_any_deltas_give_calls_with_ids_that_differ(deltas: list[dict[str, Any]]) -> None:
    assembly = Assembly()
    for raw in deltas:
        for shown in assembly.feed(calls(raw)):
            assert isinstance(shown, CallDelta)
    ids = [one.id for one in assembly.reply("m", ("a",)).calls]
    assert len(set(ids)) == len(ids)
    assert "" not in ids
    assert "a" not in ids
