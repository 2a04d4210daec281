"""Scripted models out of files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.chat_models import run

from agent_chat.core.errors import UserError
from agent_chat.core.messages import ToolCall
from agent_chat.core.model import Usage
from agent_chat.models.script_file import read_script

SCRIPT = """
repeat_last: true
steps:
  - text: Let me look.
    reasoning: hm
    calls:
      - {name: now, arguments: {zone: UTC}}
      - {name: echo, id: mine, arguments: '{"cut'}
    usage: {prompt: 10, completion: 5}
  - {failure: rate_limited, message: slow down, retry_after: 2}
  - {text: half, finish_reason: length}
"""


async def test_every_kind_of_step(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(SCRIPT)
    model = read_script(str(file), "demo")
    first = (await run(model)).reply
    assert first.calls == (ToolCall("call_1_1", "now", '{"zone": "UTC"}'), ToolCall("mine", "echo", '{"cut'))
    assert (first.finish_reason, first.usage, first.reasoning) == ("tool_calls", Usage(10, 0, 5, 0), "hm")
    error = (await run(model)).error
    assert (error.kind, error.retry_after) == ("rate_limited", 2.0)
    assert "slow down" in error.message
    for _number in range(2):
        assert (await run(model)).reply.finish_reason == "length"


async def test_json_too(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text(json.dumps(["Hello."]))
    assert (await run(read_script(str(file), "demo"))).reply.text == "Hello."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- {tekst: x}", "step 1: tekst"),
        ("- Hello.\n- {failure: fire}", "step 2: failure 'fire'"),
        ("- {calls: [{arguments: {}}]}", "no name"),
        ("- {finish_reason: tired}", "tired"),
        ("- 7", "step 1: 7"),
        ("", "a list of steps"),
        ("a: [", "s.yaml"),
    ],
)
def test_mistakes_are_named_with_their_place(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(text)
    with pytest.raises(UserError) as caught:
        read_script(str(file), "demo")
    assert told in caught.value.message
