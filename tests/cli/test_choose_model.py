"""Which model answers, in the order in which it is looked for."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from cli.conftest import Place
from support.fixtures import ProviderFactory

from agent_chat.cli.choose_model import BASE_VARIABLE, Choice, choose_model
from agent_chat.cli.load_settings import Loaded, Options
from agent_chat.core.errors import UserError
from agent_chat.models.catalog import LocalServer, providers

MODELS = "model_list:\n  - {model_name: first, litellm_params: {model: openai/x}}\n"


@pytest.fixture
def closed() -> Iterator[LocalServer]:
    """A server that does not answer: its port is bound, and nobody listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        yield LocalServer("Ollama", "ollama", sock.getsockname()[1])


async def choose(loaded: Loaded, *servers: LocalServer) -> Choice:
    return await choose_model(loaded, servers)


async def test_a_named_model_is_taken_without_a_word(place: Place, closed: LocalServer) -> None:
    place.user(MODELS)

    choice = await choose(place.load(Options(model="anthropic/m"), OPENAI_API_KEY="sk-1"), closed)

    assert choice == Choice("anthropic/m")


async def test_the_model_list_comes_before_keys(place: Place, closed: LocalServer) -> None:
    place.user(MODELS)
    first = await choose(place.load(ANTHROPIC_API_KEY="sk-1"), closed)
    place.user(MODELS + "  - {model_name: main, litellm_params: {model: openai/y}}\n")
    main = await choose(place.load(ANTHROPIC_API_KEY="sk-1"), closed)

    assert first.model == "first"
    assert f"the first of {place.user_file}:1" in first.reason
    assert main == Choice("main")


async def test_an_address_holds_for_what_model_list_does_not_name(place: Place, closed: LocalServer) -> None:
    place.user(MODELS + "agent: {api_base: 'http://h/v1'}")

    assert (await choose(place.load(Options(model="first")), closed)).api_base is None
    assert (await choose(place.load(Options(model="other")), closed)).api_base == "http://h/v1"
    given = place.load(Options(model="first", api_base="http://option/v1"))
    assert (await choose(given, closed)).api_base == "http://option/v1"


async def test_a_key_chooses_its_providers_current_model(place: Place, closed: LocalServer) -> None:
    choice = await choose(place.load(ANTHROPIC_API_KEY="sk-1", OPENAI_API_KEY="sk-2"), closed)

    assert choice.model == f"anthropic/{providers()['anthropic'].default}"
    assert "ANTHROPIC_API_KEY is set" in choice.reason
    assert "--model" in choice.reason
    assert "\n" not in choice.reason
    assert "sk-1" not in choice.reason


async def test_an_empty_key_counts_as_unset(place: Place, closed: LocalServer) -> None:
    choice = await choose(place.load(ANTHROPIC_API_KEY=" ", OPENAI_API_KEY="sk-2"), closed)

    assert choice.model == f"openai/{providers()['openai'].default}"


async def test_a_key_may_come_from_the_file(place: Place, closed: LocalServer) -> None:
    place.user("environment_variables: {MISTRAL_API_KEY: k}")

    assert (await choose(place.load(), closed)).model.startswith("mistral/")


async def test_a_named_server_without_a_key_is_asked_for_its_models(
    place: Place, closed: LocalServer, provider: ProviderFactory
) -> None:
    server = provider(models=["only-one", "another"])

    choice = await choose(place.load(OPENAI_BASE_URL=server.base_url, ANTHROPIC_API_KEY="sk-1"), closed)

    assert (choice.model, choice.api_base) == ("openai/only-one", server.base_url)
    assert f"{BASE_VARIABLE} is {server.base_url}" in choice.reason
    assert "authorization" not in {name.lower() for name in server.other_requests[0].headers}


async def test_with_a_key_the_usual_model_is_preferred_where_the_server_has_it(
    place: Place, closed: LocalServer, provider: ProviderFactory
) -> None:
    usual = str(providers()["openai"].default)
    server = provider(models=["a", usual])

    choice = await choose(place.load(OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY=" sk-TEST456\n"), closed)

    assert choice.model == f"openai/{usual}"
    headers = {name.lower(): value for name, value in server.other_requests[0].headers.items()}
    assert headers["authorization"] == "Bearer sk-TEST456"


async def test_an_address_as_option_comes_before_the_model_list(
    place: Place, closed: LocalServer, provider: ProviderFactory
) -> None:
    place.user(MODELS)
    server = provider(models=["m"])

    choice = await choose(place.load(Options(api_base=server.base_url)), closed)

    assert choice.model == "openai/m"
    assert "--api-base" in choice.reason


@pytest.mark.parametrize("models", [None, []])
async def test_a_named_server_that_lists_nothing_is_told_with_what_to_do(
    place: Place, closed: LocalServer, provider: ProviderFactory, models: list[str] | None
) -> None:
    server = provider(models=models, allow_failures=True)

    with pytest.raises(UserError, match=r"No model is named, and http://.*/v1/models") as caught:
        await choose(place.load(OPENAI_BASE_URL=server.base_url), closed)

    assert "--model openai/NAME" in caught.value.hint


async def test_a_named_server_that_does_not_answer_is_told(place: Place, closed: LocalServer) -> None:
    base = f"http://127.0.0.1:{closed.port}/v1"

    with pytest.raises(UserError, match="did not answer"):
        await choose(place.load(OPENAI_BASE_URL=base), closed)


async def test_r53_a_key_that_cannot_travel_is_told_before_anything_is_sent(
    place: Place, closed: LocalServer, provider: ProviderFactory
) -> None:
    server = provider(models=["m"])

    with pytest.raises(UserError, match=r"OPENAI_API_KEY.*position 5") as caught:
        await choose(place.load(OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="sk-T\u00c9ST"), closed)

    assert "sk-T" not in caught.value.message
    assert server.other_requests == []


async def test_a_server_on_this_machine_comes_before_the_embedded_model(
    place: Place, closed: LocalServer, provider: ProviderFactory
) -> None:
    server = provider(models=["qwen3"])
    port = int(server.address.rpartition(":")[2])

    choice = await choose(place.load(), closed, LocalServer("vLLM", "hosted_vllm", port))

    assert choice.model == "hosted_vllm/qwen3"
    assert choice.api_base == f"http://127.0.0.1:{port}/v1"
    assert f"vLLM answers on port {port}" in choice.reason


async def test_with_nothing_at_all_the_embedded_model_answers(place: Place, closed: LocalServer) -> None:
    choice = await choose(place.load(), closed)

    assert choice.model.startswith("local/")
    assert "no provider's key is set" in choice.reason
    assert "\n" not in choice.reason
