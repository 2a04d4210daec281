"""An agent with functions of its own, as a user of the library writes one: `functions.py PROMPT`."""

import os
import sys

from agent_chat import Agent, tool


@tool(effect="read")
def echo(text: str) -> str:
    """Says it back."""
    return text


@tool(effect="read")
def boom(msg: str) -> str:
    """Fails."""
    raise RuntimeError(msg)


with Agent(os.environ["AGENT_CHAT_MODEL"], tools=[echo, boom], system="You are a test.") as agent:
    result = agent.run_sync(sys.argv[1])
    print(result.answer)  # noqa: T201
sys.exit(0 if result.outcome.kind == "completed" else 1)
