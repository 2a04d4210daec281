"""The inner loop: from a user message to the outcome of its turn, iteration by iteration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from agent_chat.core.budget import Limits, LimitUse, Spent, uses
from agent_chat.core.events import CostUnknown, LimitWarning, Scope, UserSaid
from agent_chat.core.outcome import Outcome
from agent_chat.engine.deadline import DeadlineExceeded, within
from agent_chat.engine.degraded import degrade
from agent_chat.engine.guard import RepetitionGuard
from agent_chat.engine.iteration import Acted, Answered, CutOff, Failed, iterate
from agent_chat.engine.runtime import Runtime
from agent_chat.engine.tool_calls import Observed


class Turn:
    """One turn. `steering` gives what the user said since it was last asked."""

    def __init__(self, runtime: Runtime, steering: Callable[[], Sequence[str]]) -> None:
        self._runtime = runtime
        self._steering = steering
        self._guard = RepetitionGuard(runtime.rules.max_repeats)
        self._started = runtime.clock.monotonic()
        self._done: list[Observed] = []
        self._text = ""
        """What the model wrote last beside its calls: the best partial answer so far."""
        self._cut = ""
        """The answer so far, when the output limit cut it off."""
        self._invalid = 0
        self._continuations = 0

    async def run(self) -> Outcome:
        while True:
            if reached := await self._reached():
                return await self._degrade(reached)
            for text in self._steering():
                await self._runtime.journal.record(UserSaid(text=text))
            try:
                step = await within(self._runtime.clock, self._seconds_left(), self._iterate())
            except DeadlineExceeded:
                continue  # the limit is reached now
            await self._tell_unknown_cost()
            match step:
                case Answered(text):
                    ended = self._runtime.journal.state.chat_end_asked
                    return Outcome("chat_ended" if ended else "final_answer", self._cut + text)
                case CutOff(text):
                    self._cut += text
                    self._continuations += 1
                    if self._continuations > self._runtime.rules.max_continuations:
                        return Outcome("output_truncated", self._cut, self._truncated())
                case Acted():
                    self._text, self._cut, self._continuations = step.text, "", 0
                    self._done.extend(step.observed)
                    if stop := await self._judge(step.observed):
                        return stop
                case Failed(reason, evidence):
                    return Outcome(reason, self._text, evidence)
                case _:
                    assert_never(step)

    async def _iterate(self) -> Answered | CutOff | Acted | Failed:
        return await iterate(self._runtime, continues=self._continuations > 0)

    async def _judge(self, observed: Sequence[Observed]) -> Outcome | None:
        """Whether the turn may go on after these observations."""
        last = observed[-1]
        for one in observed:
            if one.fatal:
                denied = one.observation.error_type == "denied"
                reason = "permission_denied" if denied else "tool_failed"
                return Outcome(reason, self._text, f"{one.call.name}: {one.observation.content}")
        kinds = {one.observation.error_type for one in observed}
        self._invalid = self._invalid + 1 if kinds <= INVALID else 0
        if self._invalid >= self._runtime.rules.max_invalid:
            evidence = f"{self._invalid} replies in a row asked for calls that cannot be run. The last: "
            if "cut_off" in kinds:
                evidence = f"{self._invalid} replies in a row hit the output limit inside a call. The last: "
            return Outcome(
                "invalid_intents", self._text, f"{evidence}{last.call.name}: {last.observation.content}"
            )
        if self._guard.stuck(observed):
            evidence = (
                f"The same call with the same result {self._runtime.rules.max_repeats} times in a row: "
                f"{last.call.name}({last.arguments})."
            )
            return await degrade(self._runtime, "repeated_calls", evidence, self._done, self._text)
        return None

    async def _reached(self) -> tuple[Scope, LimitUse] | None:
        """The first limit that is used up; warns of those that nearly are."""
        journal = self._runtime.journal
        for scope, limits, spent in self._budgets():
            for use in uses(limits, spent, self._elapsed()):
                if use.reached:
                    return scope, use
                if use.near and (scope, use.limit) not in journal.state.warned:
                    await journal.record(LimitWarning(scope=scope, limit=use.limit, used=use.used, of=use.of))
        return None

    async def _tell_unknown_cost(self) -> None:
        """Says once that a cost limit cannot be enforced; as early as that is known."""
        limited = any(
            limits.cost is not None and not spent.cost_known for _, limits, spent in self._budgets()
        )
        if limited and not self._runtime.journal.state.cost_warned:
            await self._runtime.journal.record(CostUnknown(model=self._runtime.model.name))

    async def _degrade(self, reached: tuple[Scope, LimitUse]) -> Outcome:
        scope, use = reached
        evidence = f"Stopped at the {use.describe(scope)}."
        return await degrade(self._runtime, use.reason, evidence, self._done, self._text)

    def _budgets(self) -> tuple[tuple[Scope, Limits, Spent], ...]:
        rules, state = self._runtime.rules, self._runtime.journal.state
        return ("turn", rules.turn, state.turn_spent), ("session", rules.session, state.session_spent)

    def _elapsed(self) -> float:
        return self._runtime.clock.monotonic() - self._started

    def _seconds_left(self) -> float | None:
        left = [
            use.of - use.used
            for _, limits, spent in self._budgets()
            for use in uses(limits, spent, self._elapsed())
            if use.limit == "time"
        ]
        return min(left, default=None)

    def _truncated(self) -> str:
        return f"The answer hit the output limit {self._continuations} times and could not be continued."


INVALID = frozenset(("unknown_tool", "not_allowed", "invalid_arguments", "cut_off"))
