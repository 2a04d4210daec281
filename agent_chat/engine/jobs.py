"""Small jobs that a model does for the program itself: a summary, a title."""

from __future__ import annotations

from contextlib import aclosing
from functools import cache

from agent_chat.core.context_events import Job, JobReplied
from agent_chat.core.errors import ModelFailure
from agent_chat.core.model import CallDelta, Query, ReasoningDelta, Reply, TextDelta
from agent_chat.core.ports import ChatModel
from agent_chat.core.text import storable
from agent_chat.engine.runtime import Runtime


@cache
def prompt(name: str) -> str:
    """What a model is told to do; it stands in a file beside this one."""
    from importlib.resources import files

    return files("agent_chat.engine").joinpath(f"{name}.md").read_text("utf-8").strip()


async def do_job(runtime: Runtime, model: ChatModel, job: Job, query: Query, *, audible: bool) -> str:
    """The text of the reply, which is in the log then. `audible`: attempts and waits are told to the user.

    Raises ModelFailure, also where there is no text.
    """
    started = runtime.clock.monotonic()
    reply: Reply | None = None
    async with aclosing(model.stream(query)) as stream:
        async for item in stream:
            match item:
                case Reply():
                    reply = item
                case TextDelta() | ReasoningDelta() | CallDelta():
                    pass  # of no interest before it is whole
                case _ if audible:
                    await runtime.journal.record(item)
                case _:
                    pass
    if reply is None:
        raise ModelFailure("protocol", f"{model.name}: the reply never ended.")
    await runtime.journal.record(
        JobReplied(
            job=job,
            model=reply.model or model.name,
            text=storable(reply.text),
            usage=reply.usage,
            cost_usd=reply.cost_usd,
            duration_s=runtime.clock.monotonic() - started,
        )
    )
    text = storable(reply.text).strip()
    if not text or reply.calls:
        raise ModelFailure("protocol", f"{model.name} wrote nothing that could be used.")
    return text
