"""One answer through LiteLLM, as its documentation shows it: python one_shot_litellm.py BASE"""

import sys
from typing import Any

import litellm

module: Any = litellm
stream = module.completion(
    model="openai/gpt-4.1-mini",
    api_base=sys.argv[1],
    messages=[{"role": "user", "content": "Say ok."}],
    stream=True,
)
for chunk in stream:
    sys.stdout.write(chunk.choices[0].delta.content or "")
    sys.stdout.flush()
