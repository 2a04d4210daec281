"""`now`: the date and time, anywhere."""

from __future__ import annotations

from datetime import datetime, tzinfo

from agent_chat.core.ports import Clock
from agent_chat.tools.builtin.described import described
from agent_chat.tools.tool import FunctionTool, tool


def clock_tools(clock: Clock, local: tzinfo | None = None) -> tuple[FunctionTool, ...]:
    """`now`, by a clock. `local` is the user's time zone; None for the machine's."""

    @tool(effect="read", timeout=10)
    def now(timezone: str | None = None) -> str:
        from agent_chat.tools.builtin.time_zones import find_zone

        moment = datetime.fromtimestamp(clock.now(), local).astimezone(local)
        found = find_zone(timezone, moment) if timezone else None
        there = moment if found is None else moment.astimezone(found)
        name = "" if found is None else f", {found}"
        return f"{there.isoformat(timespec='seconds')} ({there:%A}{name})"

    return (described(now),)
