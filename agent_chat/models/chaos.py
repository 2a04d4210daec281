"""Failures on purpose: a wrapper that makes a model fail as a seed says, the same way every time.

Chosen by configuration: `chaos/MODEL` as a model's name, or `chaos: {seed: 1, rate: 0.3}` in its
`litellm_params`.
"""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, get_args

from agent_chat.core.errors import FailureKind, ModelFailure, UserError
from agent_chat.core.model import Query
from agent_chat.core.ports import ModelItem
from agent_chat.models.attempt import AttemptModel
from agent_chat.models.loose import sequence

_USUAL: tuple[FailureKind, ...] = ("rate_limited", "unavailable", "timeout", "connection", "protocol")


@dataclass(frozen=True, slots=True)
class ChaosPlan:
    seed: int = 0
    rate: float = 0.3
    """The share of attempts that fail, from 0 to 1."""
    kinds: tuple[FailureKind, ...] = _USUAL
    midway: float = 0.5
    """The share of failures that come after something was streamed."""


def read_chaos(raw: Mapping[str, Any]) -> ChaosPlan:
    """From configuration. Raises UserError."""
    unknown = set(raw) - {"seed", "rate", "kinds", "midway"}
    kinds = tuple(sequence(raw.get("kinds"))) or _USUAL
    wrong = [kind for kind in kinds if kind not in get_args(FailureKind)]
    if unknown or wrong:
        raise UserError(
            f"chaos: {', '.join(map(repr, [*sorted(unknown), *wrong]))} is not known.",
            hint=f"Keys: seed, rate, kinds, midway. Kinds: {', '.join(get_args(FailureKind))}.",
        )
    try:
        return ChaosPlan(
            int(raw.get("seed", 0)), float(raw.get("rate", 0.3)), kinds, float(raw.get("midway", 0.5))
        )
    except (TypeError, ValueError) as error:
        raise UserError(f"chaos: {error}.") from None


class Chaos:
    """Satisfies `AttemptModel`."""

    def __init__(self, model: AttemptModel, plan: ChaosPlan) -> None:
        self._model = model
        self._plan = plan
        self._random = random.Random(plan.seed)

    @property
    def name(self) -> str:
        return self._model.name

    async def stream(self, query: Query) -> AsyncGenerator[ModelItem, None]:
        failure, items_first = self._plan_attempt()
        if failure is not None and items_first == 0:
            raise failure
        seen = 0
        async with aclosing(self._model.stream(query)) as items:
            async for item in items:
                if failure is not None and seen == items_first:
                    raise failure
                seen += 1
                yield item

    def _plan_attempt(self) -> tuple[ModelFailure | None, int]:
        """How this attempt fails, if it does, and after how many items."""
        rolls = self._random
        fails, midway = rolls.random() < self._plan.rate, rolls.random() < self._plan.midway
        kind, after = rolls.choice(self._plan.kinds), rolls.randint(1, 3)
        if not fails:
            return None, 0
        failure = ModelFailure(kind, f"{self.name}: {kind} on purpose (chaos).", model=self.name)
        return failure, after if midway else 0

    def drop(self, parameter: str) -> bool:
        return self._model.drop(parameter)

    async def warm(self, query: Query) -> None:
        await self._model.warm(query)

    async def close(self) -> None:
        await self._model.close()
