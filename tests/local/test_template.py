from typing import Any

import jinja2
import pytest

from agent_chat.local.template import derive

CHATML = "{% for m in messages %}{{ '<|im_start|>' + m.role }}{% endfor %}{{ tools }} <tool_call></tool_call>"
NOW: dict[str, Any] = {
    "name": "now",
    "description": "Tells the time.",
    "parameters": {"properties": {"zone": {"type": "string", "description": "a city"}, "exact": {}}},
}


def call(name: str, arguments: object) -> dict[str, Any]:
    return {"id": name, "type": "function", "function": {"name": name, "arguments": arguments}}


def rendered(messages: list[dict[str, Any]], *tools: dict[str, Any]) -> str:
    template = jinja2.Environment(autoescape=False).from_string(derive(CHATML))
    wrapped = [{"type": "function", "function": tool} for tool in tools]
    return template.render(messages=messages, tools=wrapped, add_generation_prompt=True)


@pytest.mark.parametrize("template", ["", "{{ messages }}", "[INST] {{ tools | tojson }}"])
def test_another_form_is_left_as_it_is(template: str) -> None:
    assert derive(template) == template


def test_a_tool_is_told_in_a_line() -> None:
    text = rendered([{"role": "system", "content": "Be brief."}], NOW, {"name": "bare"})
    assert text.startswith("<|im_start|>system\nBe brief.\n")
    assert "\n- now(zone: a city, exact): Tells the time.\n- bare()\n" in text


def test_without_tools_there_is_not_a_word_of_them() -> None:
    text = rendered([{"role": "user", "content": "hi"}])
    assert "tool" not in text
    assert text.endswith("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n")


@pytest.mark.parametrize("arguments", [{"zone": "Oslo"}, '{"zone": "Oslo"}'], ids=["object", "text"])
def test_calls_and_their_results_are_shown_as_the_model_writes_and_reads_them(arguments: object) -> None:
    messages: list[dict[str, Any]] = [
        {"role": "assistant", "content": "", "tool_calls": [call("now", arguments), call("bare", "{}")]},
        {"role": "tool", "tool_call_id": "now", "content": "12:00"},
        {"role": "tool", "tool_call_id": "bare", "content": "done"},
    ]
    assert (
        '<|im_start|>assistant\n{"name": "now", "arguments": {"zone": "Oslo"}}\n'
        '{"name": "bare", "arguments": {}}<|im_end|>\n'
        "<|im_start|>user\nResult of the tool:\n12:00\nResult of the tool:\ndone<|im_end|>\n"
        "<|im_start|>assistant\n"
    ) in rendered(messages, NOW)
