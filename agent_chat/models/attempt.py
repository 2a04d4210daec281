"""What the transports have in common: one request, one reply or one failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from agent_chat.core.ports import ChatModel

UNDROPPABLE = frozenset(("model", "messages", "tools", "stream"))


class AttemptModel(ChatModel, Protocol):
    """A chat model that asks once a query: no retry, no fallback, no notice."""

    def drop(self, parameter: str) -> bool:
        """Leaves the parameter out from now on. False where it was not sent, or cannot be left out."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """Which model to ask, and how."""

    name: str
    """As the user calls it."""
    model: str
    """As LiteLLM writes it, such as `openai/gpt-5-mini`; replies carry it."""
    sent_as: str
    """What the provider is asked for, such as `gpt-5-mini`."""
    base: str = ""
    """The base address, where it is known."""
    key: str | None = None
    key_source: str = ""
    """The variable or setting that the key came from."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Sent with every query: temperature and the like."""
    limit_parameter: str = "max_tokens"
    """What the limit of output tokens is called."""
    idle_limit: float = 300.0
    """Seconds without any data after which a request has failed."""
    connect_limit: float = 10.0
    """Seconds to connect."""
    prices: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The user's own `model_info`; it comes before the shipped table."""
