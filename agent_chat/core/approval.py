"""Whether a valid intent may run: what would run, what the rules say of it, what a person says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agent_chat.core.observation import Effect

PreviewKind = Literal["diff", "command", "url", "text"]
Duration = Literal["once", "session", "always"]


@dataclass(frozen=True, slots=True)
class Preview:
    """Exactly what would happen, for a person to judge."""

    kind: PreviewKind
    text: str
    """The unified diff, the command line, the address, or a description."""
    where: str = ""
    """The folder it would run in and whether a sandbox holds it, where that matters."""


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A call that passed every check that needs no judgment."""

    call_id: str
    name: str
    arguments: Mapping[str, Any]
    effect: Effect


@dataclass(frozen=True, slots=True)
class Allowed:
    """The rules let it run."""

    rule: str = ""
    """The rule that decided, as it was written; empty where none had to."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The rules forbid it."""

    message: str
    """What the model is told: the observation. Names the rule."""
    final: bool = False
    """Whether the turn cannot go on."""


@dataclass(frozen=True, slots=True)
class NeedsPerson:
    """The rules leave it to a person."""

    why: str = ""
    """For people: the rule or the mode that asks."""
    rule: str = ""
    """The rule that asks, with its place; empty where none does."""


Verdict = Allowed | Refused | NeedsPerson


@dataclass(frozen=True, slots=True)
class Approved:
    """Somebody said yes."""

    duration: Duration = "once"
    arguments: Mapping[str, Any] | None = None
    """Changed by the user; None as proposed."""
    rule: str | None = None
    """What is allowed from now on, where the user changed the rule that was proposed."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A call with arguments that a person changed, as it would run."""

    arguments: Mapping[str, Any]
    preview: Preview | None


Revise = Callable[[Mapping[str, Any]], Awaitable[Revision]]
"""Checks changed arguments of a call that is asked about. Raises ValueError where they do not fit the tool,
or where the rules forbid the call as it is then; the text says why."""


@dataclass(frozen=True, slots=True)
class Denied:
    """Somebody, or nobody, said no."""

    message: str
    """What the model is told: the observation; instructions of the user's where there are some."""
    final: bool = False
    """Whether the turn cannot go on."""


Approval = Approved | Denied
