import pytest

from agent_chat.local.template import derive

TAGGED = (
    "tools: within <tool_call></tool_call> XML tags:\\n<tool_call>\\n"
    '{BRACES\\"name\\": <function-name>, \\"arguments\\": <args-json-object>}BRACES\\n</tool_call><|im_end|>'
    "'\\n<tool_call>\\n{\"name\": \"' }} x {{- '}\\n</tool_call>' }}"
)
BARE = (
    'tools: within a single JSON object:\\n{\\"name\\": <function-name>, \\"arguments\\": <args-json-object>}'
    "<|im_end|>'\\n{\"name\": \"' }} x {{- '}' }}"
)


@pytest.mark.parametrize("braces", ["", "doubled"])
def test_the_tags_are_cut_out(braces: str) -> None:
    tagged = TAGGED.replace("{BRACES", "{{" if braces else "{").replace("}BRACES", "}}" if braces else "}")
    assert derive(tagged) == BARE


@pytest.mark.parametrize("template", ["", "{{ messages }}", BARE, TAGGED.replace("XML tags", "tags")])
def test_another_form_is_left_as_it_is(template: str) -> None:
    assert derive(template) == template


def test_chatml_without_tools_gets_a_template_with_tools() -> None:
    template = derive("{% for m in messages %}{{ '<|im_start|>' + m.role }}{% endfor %}")
    assert "tool | tojson" in template
    assert "tool_calls" in template
