"""The loop as one writes it by hand with LiteLLM: streaming, with its own assembly of the chunks.

python raw_litellm.py BASE
"""

from __future__ import annotations

import json
import sys
from typing import Any

import litellm
from raw_httpx import TOOLS, marks, step


def main() -> None:
    messages: list[Any] = [
        {"role": "system", "content": "You are a helpful assistant."},
        {"role": "user", "content": "Go on."},
    ]
    module: Any = litellm
    while True:
        stream = module.completion(
            model="openai/gpt-4.1-mini",
            api_base=sys.argv[1],
            api_key="sk-scripted",
            messages=messages,
            tools=TOOLS,
            stream=True,
            stream_options={"include_usage": True},
            num_retries=0,
            max_retries=0,
        )
        reply = module.stream_chunk_builder(list(stream)).choices[0].message
        messages.append(reply.model_dump())
        if not reply.tool_calls:
            break
        for call in reply.tool_calls:
            result = step(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    print(json.dumps({"value": (marks[-1] - marks[0]) / (len(marks) - 1)}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
