"""One answer through the `openai` client, as its documentation shows it: python one_shot_openai.py BASE"""

import sys

from openai import OpenAI

client = OpenAI(base_url=sys.argv[1], max_retries=0)
stream = client.chat.completions.create(
    model="gpt-4.1-mini", messages=[{"role": "user", "content": "Say ok."}], stream=True
)
for chunk in stream:
    if chunk.choices:
        sys.stdout.write(chunk.choices[0].delta.content or "")
        sys.stdout.flush()
