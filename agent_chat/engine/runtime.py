"""What a turn runs with: the ports, the rules and the journal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from agent_chat.core.budget import Limits
from agent_chat.core.model import ToolSpec
from agent_chat.core.ports import Approver, ChatModel, Clock, ResultStore, Toolbox
from agent_chat.core.tokens import estimate_tools
from agent_chat.engine.journal import Journal
from agent_chat.engine.prefix import PrefixWatch


@dataclass(frozen=True, slots=True)
class ContextRules:
    """When and how room is made in the context window."""

    window: int | None = None
    """Tokens of input that the model takes; None for what is known of the model itself."""
    compact_at: float | None = 0.8
    """The share of the window from which on the older messages are replaced by a summary; None for never."""
    thin_at: float | None = 0.6
    """The share from which on old tool results are cut; None for never."""
    keep_turns: int = 2
    """Turns that stay as they are beside a summary."""
    keep_iterations: int = 10
    """Iterations whose tool results are never cut."""
    thinned_to: int = 1_000
    """Characters that an old tool result is cut to."""


@dataclass(frozen=True, slots=True)
class Rules:
    """When a turn stops, and how much of anything there may be."""

    turn: Limits = Limits(iterations=50)
    session: Limits = Limits()
    max_invalid: int = 3
    """Iterations in a row of which no intent could be run."""
    max_repeats: int = 4
    """Iterations in a row with the same calls and the same results."""
    max_continuations: int = 2
    """How often an answer that hit the output limit is continued."""
    max_parallel: int = 16
    """Tools that only read and run at the same time."""
    result_limit: int = 16_000
    """Characters of a tool result that the model is shown."""
    summary_tokens: int = 800
    """Output limit of the summary with which a degraded turn ends."""
    context: ContextRules = ContextRules()


def _unknown(name: str) -> int | None:
    return None


@dataclass(slots=True)
class Runtime:
    """Lives as long as its session. The model may be exchanged between turns."""

    model: ChatModel
    toolbox: Toolbox
    approver: Approver
    results: ResultStore
    clock: Clock
    rules: Rules
    journal: Journal
    stopped_by: str = "the user"
    """Who cancels, when something is cancelled: part of what the model is told of it."""
    small: ChatModel | None = None
    """For small jobs; None where none is configured: the main model writes summaries then."""
    window_of: Callable[[str], int | None] = _unknown
    """Tokens of input that the model of this name takes; None where that is not known. Quick."""
    prefix: PrefixWatch = field(default_factory=PrefixWatch)
    _counted: tuple[tuple[ToolSpec, ...], int] = ((), 0)

    def window(self) -> int | None:
        """Tokens of input that the model in use takes."""
        return self.rules.context.window or self.window_of(self.model.name)

    def tool_tokens(self) -> int:
        """Estimate of what the tools take of a request; made anew only when they change."""
        specs = self.toolbox.specs()
        if specs is not self._counted[0]:
            self._counted = specs, estimate_tools(specs)
        return self._counted[1]
