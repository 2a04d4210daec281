"""Which model answers when none is named, and what the catalogue promises."""

from __future__ import annotations

import asyncio
import time

import pytest
from support.fixtures import ProviderFactory
from support.provider import ScriptedProvider

from agent_chat.models.catalog import (
    LocalServer,
    Provider,
    choose_default,
    find_local_server,
    providers,
)
from agent_chat.models.pricing import listed


@pytest.mark.parametrize(
    ("environ", "model"),
    [
        ({"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, "anthropic/"),
        ({"OPENAI_API_KEY": "k", "GEMINI_API_KEY": "k"}, "openai/"),
        ({"GOOGLE_API_KEY": "k"}, "gemini/"),
        ({"OPENROUTER_API_KEY": "k"}, "openrouter/"),
        ({"MISTRAL_API_KEY": "k", "XAI_API_KEY": "k"}, "mistral/"),
        ({"GROQ_API_KEY": "k"}, "groq/"),
        ({"DEEPSEEK_API_KEY": "k"}, "deepseek/"),
        ({"XAI_API_KEY": "k"}, "xai/"),
    ],
)
async def test_a_key_chooses_its_provider_s_model(environ: dict[str, str], model: str) -> None:
    choice = await choose_default(environ, ())
    assert choice is not None
    assert choice.model.startswith(model)
    assert choice.reason == f"{next(iter(environ))} is set"
    assert choice.api_base is None


async def test_an_empty_key_is_none() -> None:
    assert await choose_default({"OPENAI_API_KEY": " "}, ()) is None


@pytest.mark.parametrize("provider", [one for one in providers().values() if one.default])
def test_every_default_is_a_current_model_with_tools(provider: Provider) -> None:
    name = f"{provider.prefix}/{provider.default}"
    entry = listed(name)
    if name == "openrouter/openrouter/auto":
        return  # a router: it is on no list
    assert entry, f"{name} is not in LiteLLM's list"
    assert entry.get("mode") == "chat"
    assert entry.get("supports_function_calling")
    assert "deprecation_date" not in entry


def server_of(provider: ScriptedProvider) -> LocalServer:
    return LocalServer("Ollama", "ollama", int(provider.address.rpartition(":")[2]))


async def test_a_local_server_is_found_by_its_first_model(provider: ProviderFactory) -> None:
    server = provider(models=["qwen3", "other"])
    choice = await find_local_server([server_of(server)])
    assert choice is not None
    assert (choice.model, choice.api_base) == ("ollama/qwen3", server.base_url)
    assert "Ollama" in choice.reason


async def test_the_first_server_that_answers_counts(provider: ProviderFactory) -> None:
    empty, full = provider(models=[]), provider(models=["m"])
    choice = await find_local_server([server_of(empty), server_of(full)])
    assert choice is not None
    assert choice.api_base == full.base_url


async def test_something_else_on_the_port_is_no_model(provider: ProviderFactory) -> None:
    stranger = provider(allow_failures=True)
    assert await find_local_server([server_of(stranger)]) is None


async def test_a_server_that_says_nothing_delays_by_little() -> None:
    connections: list[asyncio.StreamWriter] = []

    async def silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    started = time.monotonic()
    assert await find_local_server([LocalServer("x", "x", port)] * 4) is None
    assert time.monotonic() - started < 1.0
    for writer in connections:
        writer.close()
        await writer.wait_closed()
    server.close()
    await server.wait_closed()


async def test_nobody_there_is_known_at_once(provider: ProviderFactory) -> None:
    gone = provider()
    address = server_of(gone)
    gone.stop()
    assert await find_local_server([address] * 4) is None
