"""What a reply cost; what is not known is not 0."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from agent_chat.core.model import Usage
from agent_chat.models.pricing import Pricing, known_providers, listed, price_list

OWN = {"input_cost_per_token": 1.0, "output_cost_per_token": 10.0}


def whole_list() -> dict[str, Any]:
    path = price_list()
    assert path is not None
    return json.loads(path.read_text("utf-8"))


def test_an_entry_found_alone_is_the_entry_of_the_whole_list() -> None:
    entries = whole_list()
    for name in list(entries)[::97]:
        expected = entries[name]
        owner = expected.get("alias_of")
        assert listed(name) == (entries[owner] if owner else expected), name


@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("openai/gpt-5-mini", "gpt-5-mini"),
        ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("gemini/gemini-3.8-flash", "gemini/gemini-3.8-flash"),
        ("groq/openai/gpt-oss-120b", "groq/openai/gpt-oss-120b"),
    ],
)
def test_models_are_found_under_the_names_that_the_list_has(model: str, key: str) -> None:
    entry = whole_list()[key]
    cost = Pricing(model).cost(Usage(prompt=1000, completion=10))
    assert cost == pytest.approx(1000 * entry["input_cost_per_token"] + 10 * entry["output_cost_per_token"])
    assert Pricing(model).context_window == entry["max_input_tokens"]


@pytest.mark.parametrize("model", ["openai/my-local-7b", "anthropic/gpt-5-mini", "", "/", "x/y/z", 'a"b'])
def test_r21_an_unknown_price_is_none(model: str) -> None:
    assert Pricing(model).cost(Usage(3, 0, 1, 0)) is None
    assert Pricing(model).context_window is None


def test_unknown_usage_is_an_unknown_cost() -> None:
    assert Pricing("openai/gpt-5-mini").cost(None) is None


@pytest.mark.parametrize("own", [{"input_cost_per_token": 1.0}, {"output_cost_per_token": 1.0}])
def test_half_a_price_is_none(own: dict[str, Any]) -> None:
    assert Pricing("openai/none", own).cost(Usage(1, 0, 1, 0)) is None


@pytest.mark.parametrize(
    ("extra", "usage", "raw", "cost"),
    [
        ({}, Usage(10, 0, 2, 0), None, 30.0),
        ({}, Usage(10, 4, 2, 1), None, 30.0),
        ({"cache_read_input_token_cost": 0.5}, Usage(10, 4, 2, 0), None, 28.0),
        ({"output_cost_per_reasoning_token": 100.0}, Usage(10, 0, 2, 1), None, 120.0),
        (
            {"cache_creation_input_token_cost": 2.0, "cache_read_input_token_cost": 0.0},
            Usage(10, 4, 0, 0),
            {"cache_creation_input_tokens": 5},
            11.0,
        ),
        ({"input_cost_per_token_above_200k_tokens": 3.0}, Usage(200_000, 0, 0, 0), None, 200_000.0),
        ({"input_cost_per_token_above_200k_tokens": 3.0}, Usage(200_001, 0, 0, 0), None, 600_003.0),
    ],
)
def test_the_user_s_own_price(extra: dict[str, Any], usage: Usage, raw: Any, cost: float) -> None:
    assert Pricing("openai/none", {**OWN, **extra}).cost(usage, raw) == pytest.approx(cost)


def test_the_user_s_own_price_comes_before_the_list() -> None:
    assert Pricing("openai/gpt-5-mini", {**OWN, "max_input_tokens": 7}).cost(Usage(1, 0, 0, 0)) == 1.0
    assert Pricing("openai/gpt-5-mini", {"max_input_tokens": 7}).context_window == 7


def test_a_free_model_costs_nothing() -> None:
    free = {"input_cost_per_token": 0, "output_cost_per_token": 0}
    assert Pricing("x/y", free).cost(Usage(5, 0, 5, 0)) == 0.0


def test_openrouter_says_what_it_charged() -> None:
    usage, raw = Usage(5, 0, 5, 0), {"cost": 0.25}
    assert Pricing("openrouter/some/model").cost(usage, raw) == 0.25
    assert Pricing("openai/my-local-7b").cost(usage, raw) is None


def test_reading_ahead_changes_nothing() -> None:
    ahead = Pricing("openai/gpt-5-mini")
    ahead.prefetch()
    ahead.prefetch()
    assert ahead.info == Pricing("openai/gpt-5-mini").info != {}


def test_known_providers_come_from_the_list() -> None:
    assert {"openai", "anthropic", "bedrock", "gemini"} <= known_providers()


def test_nothing_is_imported_for_it() -> None:
    program = (
        "import sys\n"
        "from agent_chat.core.model import Usage\n"
        "from agent_chat.models.pricing import Pricing\n"
        "assert Pricing('openai/gpt-5-mini').cost(Usage(1, 0, 1, 0))\n"
        "print('litellm' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
