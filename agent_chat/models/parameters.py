"""Which of a deployment's `litellm_params` go out with a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_chat.models.deployments import ModelConfig
from agent_chat.models.loose import mapping

_SENT = frozenset(
    (
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "metadata",
        "min_p",
        "modalities",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "prompt_cache_retention",
        "reasoning",
        "reasoning_effort",
        "repetition_penalty",
        "response_format",
        "safety_identifier",
        "seed",
        "service_tier",
        "stop",
        "store",
        "temperature",
        "thinking",
        "top_k",
        "top_logprobs",
        "top_p",
        "user",
        "verbosity",
    )
)
"""Request parameters of OpenAI and of servers that resemble it; all else in `litellm_params` is LiteLLM's."""

_OURS = frozenset(
    (
        "model",
        "api_key",
        "api_key_source",
        "api_base",
        "base_url",
        "transport",
        "stream",
        "stream_options",
        "num_retries",
        "max_retries",
        "timeout",
        "stream_timeout",
        "extra_headers",
        "custom_llm_provider",
        "rpm",
        "tpm",
        "weight",
        "order",
        "max_parallel_requests",
        "tags",
    )
)
"""What we handle ourselves or what concerns LiteLLM's router alone."""


def for_direct(params: Mapping[str, Any]) -> dict[str, Any]:
    """OpenAI's request parameters, and whatever `extra_body` holds."""
    chosen = {name: value for name, value in params.items() if name in _SENT and value is not None}
    return {**chosen, **mapping(params.get("extra_body"))}


def for_litellm(params: Mapping[str, Any], config: ModelConfig) -> dict[str, Any]:
    """All that LiteLLM may want to know: its providers have many parameters of their own."""
    chosen = {name: value for name, value in params.items() if name not in _OURS and value is not None}
    for name in ("drop_params", "modify_params"):
        value = config.litellm_settings.get(name)
        if value is not None:
            chosen.setdefault(name, value)
    return chosen
