"""Watches whether requests begin as the ones before, as providers' caches need it; names what did not."""

from __future__ import annotations

from agent_chat.core.context_events import CacheMissed, PrefixChange
from agent_chat.core.messages import Message, SystemMessage
from agent_chat.core.model import Query, Reply, ToolSpec

LEAST_PROMPT = 2_000
"""Tokens; providers cache nothing that is much shorter."""
WORKED = 0.3
"""The share of a request from the cache that shows that the provider caches at all."""
MISSED = 0.05


class PrefixWatch:
    """Remembers the last request. Holds references only."""

    def __init__(self) -> None:
        self._query: Query | None = None
        self._model = ""
        self._share = 0.0

    def forget(self) -> None:
        """The next request is known to begin differently."""
        self._query = None

    def judge(self, query: Query, reply: Reply) -> CacheMissed | None:
        """What to tell of a reply's cached share, if anything. To be called for every reply, in order."""
        usage = reply.usage
        if usage is None or not usage.prompt:
            return None
        share = usage.cached / usage.prompt
        missed = None
        dropped = self._share >= WORKED and share < MISSED and usage.prompt >= LEAST_PROMPT
        if dropped and self._query is not None:
            changed, detail = self._changed(self._query, query, reply.model)
            missed = CacheMissed(changed=changed, detail=detail, prompt=usage.prompt, cached=usage.cached)
        self._query, self._model, self._share = query, reply.model, share
        return missed

    def _changed(self, old: Query, new: Query, model: str) -> tuple[PrefixChange, str]:
        if model != self._model:
            return "model", f"{model} after {self._model}"
        if _system(old) != _system(new):
            return "system", ""
        if old.tools != new.tools:
            return "tools", _tools_changed(old.tools, new.tools)
        for place, (before, after) in enumerate(zip(old.messages, new.messages, strict=False)):
            if before != after:
                return "messages", f"message {place + 1} of {len(new.messages)}, {_role(after)}"
        return "none", ""


def _system(query: Query) -> Message | None:
    first = query.messages[0] if query.messages else None
    return first if isinstance(first, SystemMessage) else None


def _role(message: Message) -> str:
    return type(message).__name__.removesuffix("Message").lower()


def _tools_changed(old: tuple[ToolSpec, ...], new: tuple[ToolSpec, ...]) -> str:
    before, after = {spec.name: spec for spec in old}, {spec.name: spec for spec in new}
    parts = {
        "new": [name for name in after if name not in before],
        "gone": [name for name in before if name not in after],
        "described differently": [name for name in after if name in before and after[name] != before[name]],
    }
    told = [f"{what}: {', '.join(names)}" for what, names in parts.items() if names]
    return "; ".join(told) or "in another order"
