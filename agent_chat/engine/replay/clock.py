"""Time as the log has it."""

from __future__ import annotations

import asyncio

from agent_chat.core.events import TurnEnded
from agent_chat.core.ports import Clock
from agent_chat.engine.replay.script import TurnScript


class ReplayClock:
    """A `Clock` at the time of the next entry, and a real one where the loop goes on for real."""

    def __init__(self, real: Clock) -> None:
        self._script = TurnScript(())
        self._real = real
        self._live_since: tuple[float, float] | None = None
        self._alarms: list[asyncio.Future[None]] = []
        self.retry_comes = False
        """The next sleep is the pause before a tool is tried again; its time has passed in the log."""

    def follow(self, script: TurnScript) -> None:
        """From now on this is the time."""
        self._script = script
        self._live_since, self._alarms, self.retry_comes = None, [], False

    def now(self) -> float:
        return self._real.now() if self._script.live else self._script.at

    def monotonic(self) -> float:
        if self._script.live:
            if self._live_since is None:
                self._live_since = self._script.at, self._real.monotonic()
            logged, began = self._live_since
            return logged + self._real.monotonic() - began
        # The log's times are too coarse to tell that a limit was reached to the moment.
        end = self._script.next
        is_up = isinstance(end, TurnEnded) and end.reason == "budget_time"
        return self._script.at + (1e9 if is_up else 0)

    async def sleep(self, seconds: float) -> None:
        if self._script.live:
            await self._real.sleep(seconds)
        elif self.retry_comes:
            self.retry_comes = False
            await asyncio.sleep(0)
        else:
            alarm: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._alarms.append(alarm)
            await alarm

    def ring(self) -> bool:
        """Ends the sleep that was begun first. False where nothing sleeps."""
        for alarm in self._alarms:
            if not alarm.done():
                alarm.set_result(None)
                return True
        return False
