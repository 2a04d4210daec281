"""What a turn runs with: the ports, the rules and the journal."""

from __future__ import annotations

from dataclasses import dataclass

from agent_chat.core.budget import Limits
from agent_chat.core.ports import Approver, ChatModel, Clock, ResultStore, Toolbox
from agent_chat.engine.journal import Journal


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
