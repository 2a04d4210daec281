"""Limits are wishes, `Spent` is what happened; comparing the two says whether to go on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent_chat.core.events import LimitName
from agent_chat.core.model import Usage
from agent_chat.core.outcome import StopReason

WARN_AT = 0.8
"""The used share of a limit from which on the user is warned."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds of a turn or a session; None is no bound."""

    iterations: int | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    """Prompt and completion tokens together."""
    cost: float | None = None
    """US dollars."""
    time: float | None = None
    """Seconds."""


@dataclass(slots=True)
class Spent:
    """Running sums; derived from events, never set by hand."""

    iterations: int = 0
    tool_calls: int = 0
    usage: Usage = Usage()
    cost: float = 0.0
    """US dollars of the replies whose price is known."""
    cost_known: bool = True
    """False once the cost of any reply was unknown: `cost` is then a lower bound."""
    time: float = 0.0
    """Seconds of the turns that ended."""

    @property
    def cost_usd(self) -> float | None:
        return self.cost if self.cost_known else None

    def add_reply(self, usage: Usage | None, cost: float | None) -> None:
        if usage is not None:
            self.usage = self.usage + usage
        if cost is None:
            self.cost_known = False
        else:
            self.cost += cost


_REASONS: dict[LimitName, StopReason] = {
    "iterations": "max_iterations",
    "tool_calls": "budget_tool_calls",
    "tokens": "budget_tokens",
    "cost": "budget_cost",
    "time": "budget_time",
}
_WORDS: dict[LimitName, str] = {
    "iterations": "step limit",
    "tool_calls": "tool call limit",
    "tokens": "token limit",
    "cost": "cost limit",
    "time": "time limit",
}


@dataclass(frozen=True, slots=True)
class LimitUse:
    """How far one limit is used up."""

    limit: LimitName
    used: float
    of: float

    @property
    def reached(self) -> bool:
        return self.used >= self.of

    @property
    def near(self) -> bool:
        return self.used >= WARN_AT * self.of

    @property
    def reason(self) -> StopReason:
        return _REASONS[self.limit]

    def describe(self, scope: str) -> str:
        """For people, such as `step limit (20)` or `session cost limit ($1.50)`."""
        prefix = "session " if scope == "session" else ""
        return f"{prefix}{_WORDS[self.limit]} ({format_amount(self.limit, self.of)})"


def format_amount(limit: LimitName, amount: float) -> str:
    match limit:
        case "cost":
            return f"${amount:.4f}".rstrip("0").rstrip(".")
        case "time":
            return f"{amount:g} s"
        case "iterations" | "tool_calls" | "tokens":
            return f"{amount:,.0f}"


def uses(limits: Limits, spent: Spent, elapsed: float) -> Iterator[LimitUse]:
    """Every limit that is set, with what was used of it. `elapsed`: seconds of the turn that is running."""
    if limits.iterations is not None:
        yield LimitUse("iterations", spent.iterations, limits.iterations)
    if limits.tool_calls is not None:
        yield LimitUse("tool_calls", spent.tool_calls, limits.tool_calls)
    if limits.tokens is not None:
        yield LimitUse("tokens", spent.usage.total, limits.tokens)
    if limits.cost is not None:
        yield LimitUse("cost", spent.cost, limits.cost)
    if limits.time is not None:
        yield LimitUse("time", spent.time + elapsed, limits.time)
