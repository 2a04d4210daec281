"""The chat template that makes a small model's tool calls come out as tool calls."""

from importlib.resources import files

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
    """The template to run a model with, from the one in its file.

    Where that one asks for `<tool_call>` tags, they are cut out. Where it is ChatML and knows no tools, it is
    replaced by one that does. Any other is left as it is.
    """
    if "<|im_start|>" in template and "tools" not in template:
        return files("agent_chat.local").joinpath("chatml_tools.jinja").read_text(encoding="utf-8")
    for tagged, bare in _CUTS:
        if tagged not in template:
            return template
        template = template.replace(tagged, bare)
    return template.replace(_DOUBLED, _DOUBLED.replace("{{", "{").replace("}}", "}"))
