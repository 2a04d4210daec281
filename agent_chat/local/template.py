"""The chat template that makes a small model's tool calls come out as tool calls."""

from importlib.resources import files


def derive(template: str) -> str:
    """The template to run a model with, from the one in its file.

    A ChatML one is replaced by ours, which tells each tool in a line and shows a call as the JSON object that
    these models write, also where their own templates promise tags around it. Any other is left as it is.
    """
    if "<|im_start|>" in template:
        return files("agent_chat.local").joinpath("chatml_tools.jinja").read_text(encoding="utf-8")
    return template
