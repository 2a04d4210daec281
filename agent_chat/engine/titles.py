"""A title for a session, written by the small model behind the conversation. Nobody waits for it."""

from __future__ import annotations

from agent_chat.core.context_events import SessionTitled
from agent_chat.core.errors import ModelFailure
from agent_chat.core.messages import SystemMessage, UserMessage
from agent_chat.core.model import Query
from agent_chat.core.observation import excerpt
from agent_chat.core.ports import ChatModel
from agent_chat.engine.jobs import do_job, prompt
from agent_chat.engine.runtime import Runtime

TITLE_TOKENS = 60
SHOWN = 1_500
"""Characters of the message and of its answer that the model is given."""
LONGEST = 80


async def write_title(runtime: Runtime, small: ChatModel, said: str, answer: str) -> None:
    """Records a title; a failure leaves the session without one."""
    given = f"USER:\n{excerpt(said, SHOWN).text}\n\nASSISTANT:\n{excerpt(answer, SHOWN).text}"
    asked = UserMessage(f"<conversation>\n{given}\n</conversation>\n\nThe title:")
    query = Query((SystemMessage(prompt("title")), asked), max_output_tokens=TITLE_TOKENS)
    try:
        text = await do_job(runtime, small, "title", query, audible=False)
    except ModelFailure:
        return
    if title := _clean(text):
        await runtime.journal.record(SessionTitled(title=title))


def _clean(text: str) -> str:
    first = next((line for line in text.splitlines() if line.strip()), "")
    title = " ".join(first.strip().lstrip("#").strip().strip("\"'“”„«»*`").split()).removesuffix(".")
    return title if len(title) <= LONGEST else f"{title[: LONGEST - 1]}…"
