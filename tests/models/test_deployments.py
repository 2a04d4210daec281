"""LiteLLM's configuration, read as it is."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from agent_chat.core.errors import UserError
from agent_chat.models.deployments import ModelConfig, resolve

PROXY = """
model_list:
  - model_name: main
    litellm_params: {model: anthropic/claude-sonnet-4-5, api_key: os.environ/ANTHROPIC_API_KEY, rpm: 10}
    model_info: {id: "1", base_model: x}
  - model_name: main
    litellm_params: {model: bedrock/claude, aws_region_name: us-east-1}
  - model_name: backup
    litellm_params: {model: openai/gpt-5-mini}
  - model_name: "groq/*"
    litellm_params: {model: "groq/*", api_key: os.environ/GROQ_API_KEY}
litellm_settings:
  num_retries: 2
  request_timeout: 120
  callbacks: [prometheus]
  fallbacks: [{other: [main]}]
router_settings:
  routing_strategy: simple-shuffle
  model_group_alias: {gpt-4: backup, hidden: {model: main, hidden: true}}
  fallbacks: [{main: [backup]}, {"*": [main]}]
  context_window_fallbacks: [{main: [backup]}]
general_settings: {master_key: sk-1234, database_url: "postgresql://x"}
environment_variables: {REGION: eu}
anything_else: 1
"""


def config() -> ModelConfig:
    return ModelConfig.parse(yaml.safe_load(PROXY))


def test_a_proxy_s_file_is_read() -> None:
    first, second, backup, wildcard = config().model_list
    assert (first.model_name, first.model) == ("main", "anthropic/claude-sonnet-4-5")
    assert first.model_info["base_model"] == "x"
    assert second.litellm_params["aws_region_name"] == "us-east-1"
    assert (backup.model, wildcard.model) == ("openai/gpt-5-mini", "groq/*")
    assert config().litellm_settings["callbacks"] == ["prometheus"]
    assert config().environment_variables == {"REGION": "eu"}


def test_several_deployments_of_one_name_belong_together() -> None:
    assert [entry.model for entry in config().deployments("main")] == [
        "anthropic/claude-sonnet-4-5",
        "bedrock/claude",
    ]


def test_aliases() -> None:
    assert config().deployments("gpt-4") == config().deployments("backup")
    assert config().deployments("hidden") == config().deployments("main")
    assert config().names() == ("main", "backup", "groq/*", "gpt-4", "hidden")


def test_a_wildcard_covers_what_begins_like_it() -> None:
    (entry,) = config().deployments("groq/llama-3")
    assert (entry.model_name, entry.model) == ("groq/llama-3", "groq/llama-3")
    assert entry.litellm_params["api_key"] == "os.environ/GROQ_API_KEY"
    assert config().deployments("other/x") == ()


def test_fallbacks() -> None:
    assert config().fallbacks("main") == ("backup",)
    assert config().fallbacks("anything") == ("main",)
    assert config().context_window_fallbacks("main") == ("backup",)
    assert config().context_window_fallbacks("backup") == ()
    plain = ModelConfig.parse({"litellm_settings": {"default_fallbacks": ["a"], "fallbacks": [{"m": "b"}]}})
    assert plain.fallbacks("x") == ("a",)
    assert plain.fallbacks("m") == ("b",)


def test_nothing_is_a_configuration_too() -> None:
    assert ModelConfig.parse({}) == ModelConfig()
    assert ModelConfig.parse({"model_list": None, "router_settings": None}) == ModelConfig()


BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"model_list": {"a": 1}}, "model_list"),
    ({"model_list": ["x"]}, "model_list[0]"),
    ({"model_list": [{"litellm_params": {"model": "a/b"}}]}, "model_name"),
    ({"model_list": [{"model_name": "m"}]}, "litellm_params.model"),
    ({"model_list": [{"model_name": "m", "litellm_params": {"model": 7}}]}, "litellm_params.model"),
    (
        {"model_list": [{"model_name": "m", "litellm_params": {"model": "a/b", "transport": "pigeon"}}]},
        "pigeon",
    ),
    ({"litellm_settings": [1]}, "litellm_settings"),
]


@pytest.mark.parametrize(("raw", "place"), BROKEN)
def test_r52_what_is_wrong_is_named_with_its_place(raw: dict[str, Any], place: str) -> None:
    with pytest.raises(UserError) as caught:
        ModelConfig.parse(raw)
    assert place in caught.value.message


def test_values_from_the_environment() -> None:
    assert resolve("os.environ/KEY", {"KEY": "v"}, "here") == "v"
    assert resolve("plain", {}, "here") == "plain"
    assert resolve(3, {}, "here") == 3
    with pytest.raises(UserError) as caught:
        resolve("os.environ/KEY", {}, "main: api_key")
    assert "main: api_key" in caught.value.message
    assert "KEY" in caught.value.message
