"""How large a model's context window is, by any name that it can have."""

from __future__ import annotations

from typing import Any

from agent_chat.models.deployments import ModelConfig
from agent_chat.models.windows import Windows


def entry(name: str, model: str, window: int | None = None) -> dict[str, Any]:
    info = {} if window is None else {"model_info": {"max_input_tokens": window}}
    return {"model_name": name, "litellm_params": {"model": model}, **info}


def windows(*models: dict[str, Any], **router: Any) -> Windows:
    return Windows(ModelConfig.parse({"model_list": list(models), "router_settings": router}))


def test_the_user_s_own_word_comes_first() -> None:
    assert windows(entry("main", "openai/gpt-4o", 9_000)).of("main") == 9_000


def test_litellm_s_list_knows_many_with_and_without_their_prefix() -> None:
    known = windows()
    assert known.of("openai/gpt-4o") == known.of("gpt-4o") == 128_000
    assert (known.of("anthropic/claude-sonnet-4-5") or 0) >= 200_000


def test_nobody_knows_a_model_of_one_s_own() -> None:
    assert windows().of("openai/my-own-7b") is None
    assert windows(entry("main", "openai/my-own-7b")).of("main") is None
    assert windows().of("scripted/replies.yaml") is None


def test_the_embedded_model() -> None:
    assert windows().of("local/qwen2.5-coder-1.5b") == 16_384
    assert windows().of("local/none") is None


def test_of_several_deployments_the_smallest_counts() -> None:
    both = windows(entry("main", "openai/a", 32_000), entry("main", "openai/b", 8_000))
    assert both.of("main") == 8_000


def test_where_a_larger_model_takes_over_its_window_counts() -> None:
    models = entry("main", "openai/a", 8_000), entry("large", "openai/b", 100_000)
    assert windows(*models, context_window_fallbacks=[{"main": ["large"]}]).of("main") == 100_000
    unknown = entry("main", "openai/a"), entry("large", "openai/b", 100_000)
    assert windows(*unknown, context_window_fallbacks=[{"main": ["large"]}]).of("main") is None
