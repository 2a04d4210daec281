"""The chat template that makes a small model's tool calls come out as tool calls."""

# Qwen2.5-Coder writes a call as bare JSON although its own template asks for <tool_call> tags. llama.cpp
# then looks for the tags, finds none, and hands the call on as text. With the tags cut out of the template,
# what it looks for is what the model writes.
_CUTS = (
    ("<tool_call></tool_call> XML tags:\\n<tool_call>\\n", "a single JSON object:\\n"),
    ("\\n</tool_call><|im_end|>", "<|im_end|>"),
    ("'\\n<tool_call>\\n{", "'\\n{"),
    ("}\\n</tool_call>", "}"),
)
# Some of these files show the form of a call with doubled braces.
_DOUBLED = '\\n{{\\"name\\": <function-name>, \\"arguments\\": <args-json-object>}}'


def derive(template: str) -> str:
    """The template with its `<tool_call>` tags cut out, or unchanged when it is not of that form."""
    for tagged, bare in _CUTS:
        if tagged not in template:
            return template
        template = template.replace(tagged, bare)
    return template.replace(_DOUBLED, _DOUBLED.replace("{{", "{").replace("}}", "}"))
