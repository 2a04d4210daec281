"""From a name to a model, without a request."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.chat_models import JumpingClock, run
from support.fixtures import ProviderFactory
from support.provider import FIN, HTTP, OK, REPEAT, T

from agent_chat.core.errors import UserError
from agent_chat.core.events import AttemptStarted, ModelSwitched
from agent_chat.core.model import Reply
from agent_chat.core.ports import ChatModel
from agent_chat.models.build import build_model
from agent_chat.models.deployments import ModelConfig
from agent_chat.models.options import RequestOptions
from agent_chat.models.scripted import ScriptedModel

KEYS = {"OPENAI_API_KEY": "sk-TEST456"}


def config(*entries: tuple[str, dict[str, Any]], **sections: Any) -> ModelConfig:
    models = [{"model_name": name, "litellm_params": params} for name, params in entries]
    return ModelConfig.parse({"model_list": models, **sections})


def build(name: str, using: ModelConfig | None = None, **changes: Any) -> ChatModel:
    given: dict[str, Any] = {"clock": JumpingClock(), "environ": KEYS, **changes}
    return build_model(using or ModelConfig(), name, **given)


async def test_a_configured_name(provider: ProviderFactory) -> None:
    server = provider([T("ok"), FIN("stop")])
    params = {
        "model": "openai/gpt-5-mini",
        "api_base": server.base_url,
        "api_key": "os.environ/MY_KEY",
        "temperature": 0.5,
        "max_tokens": 7,
        "rpm": 10,
        "extra_headers": {"X-Team": "blue"},
        "extra_body": {"top_k": 3},
    }
    model = build("main", config(("main", params)), environ={"MY_KEY": " sk-mine\n"})
    assert (await run(model)).reply.model == "openai/gpt-5-mini"
    assert model.name == "main"
    (request,) = server.requests
    assert request.headers["authorization"] == "Bearer sk-mine"
    assert request.headers["x-team"] == "blue"
    body = {name: request.body[name] for name in ("model", "temperature", "max_tokens", "top_k")}
    assert body == {"model": "gpt-5-mini", "temperature": 0.5, "max_tokens": 7, "top_k": 3}
    assert set(request.body) == {*body, "stream", "stream_options", "messages", "tools"}
    await model.close()


@pytest.mark.parametrize("name", ["gpt-5-mini", "openai/gpt-5-mini", "my/own", "whatever"])
async def test_any_name_with_an_address(provider: ProviderFactory, name: str) -> None:
    server = provider(OK)
    model = build(name, api_base=server.base_url)
    assert (await run(model)).reply.text == "ok"
    assert server.bodies[0]["model"] == name.removeprefix("openai/")
    await model.close()


async def test_the_address_of_openai_from_the_environment(provider: ProviderFactory) -> None:
    server = provider(OK)
    model = build("openai/m", environ={"OPENAI_BASE_URL": server.base_url})
    assert (await run(model)).reply.text == "ok"
    assert "authorization" not in server.requests[0].headers
    await model.close()


async def test_an_ollama_address_without_v1(provider: ProviderFactory) -> None:
    server = provider(OK)
    model = build("ollama/llama3", environ={"OLLAMA_API_BASE": server.address})
    assert (await run(model)).reply.text == "ok"
    await model.close()


async def test_options_reach_the_request(provider: ProviderFactory) -> None:
    server = provider(REPEAT(HTTP(500)))
    options = RequestOptions(
        retries=1,
        max_output_tokens=9,
        parameters={"temperature": 0.1},
        headers={"X-A": "b"},
        idle_timeout=5,
        connect_timeout=5,
    )
    using = config(
        ("m", {"model": "openai/m", "api_base": server.base_url, "num_retries": 7, "temperature": 1})
    )
    model = build("m", using, options=options)
    await run(model)
    assert len(server.requests) == 2
    request = server.requests[0]
    assert (request.body["temperature"], request.body["max_tokens"]) == (0.1, 9)
    assert request.headers["x-a"] == "b"
    await model.close()


@pytest.mark.parametrize(
    ("params", "sections", "requests"),
    [
        ({}, {}, 3),
        ({"num_retries": 0}, {"litellm_settings": {"num_retries": 5}}, 1),
        ({"max_retries": "1"}, {}, 2),
        ({}, {"litellm_settings": {"num_retries": 3}}, 4),
        ({}, {"router_settings": {"num_retries": 1}, "litellm_settings": {"num_retries": 3}}, 2),
    ],
)
async def test_retries_as_configured(
    provider: ProviderFactory, params: dict[str, Any], sections: dict[str, Any], requests: int
) -> None:
    server = provider(REPEAT(HTTP(503)))
    model = build(
        "m", config(("m", {"model": "openai/m", "api_base": server.base_url, **params}), **sections)
    )
    await run(model)
    assert len(server.requests) == requests
    await model.close()


async def test_fallbacks_and_deployments_in_order(provider: ProviderFactory) -> None:
    server = provider(*[HTTP(401, body={"error": {"message": "no"}})] * 2, OK)
    base = {"api_base": server.base_url}
    using = config(
        ("main", {"model": "openai/a", **base}),
        ("main", {"model": "openai/b", **base}),
        ("backup", {"model": "openai/c", **base}),
        router_settings={"fallbacks": [{"main": ["backup"]}]},
    )
    model = build("main", using)
    ran = await run(model)
    assert ran.reply.model == "openai/c"
    assert [body["model"] for body in server.bodies] == ["a", "b", "c"]
    assert [(switch.from_model, switch.to_model) for switch in ran.of(ModelSwitched)] == [
        ("main", "main (2)"),
        ("main (2)", "backup"),
    ]
    assert [start.model for start in ran.of(AttemptStarted)] == ["main", "main (2)", "backup"]
    await model.close()


async def test_r20_the_fallback_does_not_know_a_parameter(provider: ProviderFactory) -> None:
    refusal = HTTP(400, body={"error": {"message": "Unsupported parameter: temperature"}})
    server = provider(HTTP(503), refusal, OK)
    using = config(
        ("m1", {"model": "openai/m1", "api_base": server.base_url}),
        ("m2", {"model": "openai/m2", "api_base": server.base_url}),
    )
    options = RequestOptions(retries=0, parameters={"temperature": 0.2})
    model = build("m1", using, fallbacks=["m2"], options=options)
    assert (await run(model)).reply.text == "ok"
    assert [("temperature" in body) for body in server.bodies] == [True, True, False]
    await model.close()


async def test_a_context_window_fallback(provider: ProviderFactory) -> None:
    overflow = HTTP(400, body={"error": {"code": "context_length_exceeded", "message": "long"}})
    server = provider(overflow, OK)
    base = {"api_base": server.base_url}
    using = config(
        ("small", {"model": "openai/s", **base}),
        ("large", {"model": "openai/l", **base}),
        litellm_settings={"context_window_fallbacks": [{"small": ["large"]}]},
    )
    model = build("small", using)
    assert (await run(model)).reply.model == "openai/l"
    await model.close()


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai/gpt-5-mini", "OPENAI_API_KEY"),
        ("anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("gemini/gemini-3.8-flash", "GEMINI_API_KEY"),
        ("openrouter/openai/gpt-5", "OPENROUTER_API_KEY"),
    ],
)
def test_a_missing_key_is_named(name: str, variable: str) -> None:
    with pytest.raises(UserError) as caught:
        build(name, environ={})
    assert variable in caught.value.message
    assert name in caught.value.message


@pytest.mark.parametrize(
    ("name", "suggestion"), [("opnai/gpt-5", "openai/gpt-5"), ("mian", "main"), ("nonsense", "anthropic/")]
)
def test_an_unknown_model_is_answered_with_a_suggestion(name: str, suggestion: str) -> None:
    with pytest.raises(UserError) as caught:
        build(name, config(("main", {"model": "openai/m"})))
    assert name in caught.value.message
    assert suggestion in caught.value.hint


@pytest.mark.parametrize(
    ("environ", "position"),
    [
        ({"OPENAI_API_KEY": "sk-TÉST"}, "U+00C9 at position 5"),
        ({"OPENAI_API_KEY": "sk-TEST\u200b456"}, "U+200B at position 8"),
        ({"OPENAI_API_KEY": "sk-TE\nST456"}, "a line break at position 6"),
        ({"OPENAI_API_KEY": "  sk-TE ST456"}, "a blank at position 8"),
    ],
)
def test_r53_a_key_that_cannot_travel_is_refused_and_not_shown(
    environ: dict[str, str], position: str
) -> None:
    with pytest.raises(UserError) as caught:
        build("openai/m", environ=environ)
    told = caught.value.message + caught.value.hint
    assert position in told
    assert "OPENAI_API_KEY" in told
    assert "TEST" not in told
    assert "sk-" not in told


@pytest.mark.parametrize("key", ["sk-TEST456\n", " sk-TEST456 ", "\tsk-TEST456\r\n"])
async def test_r53_blanks_around_a_key_are_removed(provider: ProviderFactory, key: str) -> None:
    server = provider(OK)
    model = build("openai/m", environ={"OPENAI_API_KEY": key}, api_base=server.base_url)
    await run(model)
    assert server.requests[0].headers["authorization"] == "Bearer sk-TEST456"
    await model.close()


@pytest.mark.parametrize("headers", [{"X-A": "日本"}, {"X A": "b"}, {"X-A": "a\nb"}, {"": "b"}])
def test_r53_a_header_that_cannot_travel_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(UserError) as caught:
        build("openai/m", options=RequestOptions(headers=headers))
    assert "header" in caught.value.message


WRONG: Sequence[tuple[dict[str, Any], str]] = [
    ({"timeout": "soon"}, "timeout"),
    ({"num_retries": -1}, "num_retries"),
    ({"api_key": "os.environ/NOT_SET"}, "NOT_SET"),
    ({"model": "anthropic/claude", "transport": "direct"}, "directly"),
    ({"model": "litellm_proxy/m"}, "LITELLM_PROXY_API_BASE"),
    ({"chaos": {"rate": "x"}}, "chaos"),
    ({"chaos": {"kinds": ["fire"]}}, "fire"),
    ({"model": "scripted/none.yaml"}, "none.yaml"),
    ({"model": "local/x"}, "local/x"),
]


@pytest.mark.parametrize(("params", "told"), WRONG)
def test_what_the_user_can_mend_is_a_user_error(params: dict[str, Any], told: str) -> None:
    environ = {**KEYS, "ANTHROPIC_API_KEY": "k"}
    with pytest.raises(UserError) as caught:
        build("m", config(("m", {"model": "openai/m", **params})), environ=environ)
    assert told in caught.value.message + caught.value.hint


def test_the_embedded_model_comes_from_its_factory() -> None:
    asked: list[str] = []

    def factory(name: str) -> ChatModel:
        asked.append(name)
        return ScriptedModel(name=name)

    for name in ("local/small", "local:/models/x.gguf"):
        assert build(name, local_factory=factory).name == name
    assert asked == ["local/small", "local:/models/x.gguf"]


async def test_a_script_by_name(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("- Hello.\n- {failure: auth, message: no}\n")
    model = build(f"scripted/{script}")
    assert (await run(model)).reply == Reply("Hello.", model=model.name)
    assert (await run(model)).error.kind == "auth"


async def test_chaos_by_name_fails_the_same_way_every_time(provider: ProviderFactory) -> None:
    server = provider(REPEAT([T("a"), T("b"), T("c"), T("d"), FIN("stop")]))
    using = config(
        ("m", {"model": "openai/m", "api_base": server.base_url, "chaos": {"seed": 3, "rate": 0.6}})
    )

    async def course() -> list[str]:
        model = build("m", using, options=RequestOptions(retries=0))
        told = [str((await run(model)).failure) for _number in range(12)]
        await model.close()
        return told

    first, second = await course(), await course()
    assert first == second
    assert 2 < sum(told != "None" for told in first) < 12
    assert len(set(first)) > 2


def test_building_imports_no_model_library() -> None:
    """A direct model needs httpx alone; LiteLLM and openai stay out even when a LiteLLM model is built."""
    program = (
        "import sys\n"
        "from agent_chat.models.build import build_model\n"
        "from agent_chat.models.deployments import ModelConfig\n"
        "assert 'httpx' not in sys.modules\n"
        "env = {'OPENAI_API_KEY': 'k', 'ANTHROPIC_API_KEY': 'k'}\n"
        "for name in ('openai/m', 'anthropic/m'):\n"
        "    build_model(ModelConfig(), name, clock=None, environ=env)\n"
        "print(sorted({'litellm', 'openai', 'yaml', 'rich'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
