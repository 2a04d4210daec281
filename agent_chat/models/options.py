"""What the user may say about requests, whichever model they go to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Transport = Literal["auto", "direct", "litellm"]


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """How models are asked; None leaves it to LiteLLM's settings, else to our defaults."""

    connect_timeout: float | None = None
    """Seconds."""
    idle_timeout: float | None = None
    """Seconds without any data."""
    retries: int | None = None
    max_retry_wait: float | None = None
    """Seconds that a provider may ask us to wait; more counts as a failure beyond retry."""
    max_output_tokens: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Sent with every request, under OpenAI's names: temperature, reasoning_effort and the like."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    transport: Transport = "auto"
