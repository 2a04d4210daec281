"""From a configuration and a name to a chat model that retries and falls back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent_chat.core.errors import UserError
from agent_chat.core.ports import ChatModel, Clock
from agent_chat.models.attempt import AttemptModel
from agent_chat.models.deployments import Deployment, ModelConfig, resolve
from agent_chat.models.fallback import COOLDOWN, Fallback
from agent_chat.models.loose import mapping
from agent_chat.models.numbers import first_number
from agent_chat.models.options import RequestOptions
from agent_chat.models.retry import Retry, RetryPolicy
from agent_chat.models.targets import Targets

LocalFactory = Callable[[str], ChatModel]
"""Makes the embedded model from `local/NAME` or `local:FILE.gguf`; may raise UserError."""


def build_model(
    config: ModelConfig,
    name: str,
    *,
    clock: Clock,
    environ: Mapping[str, str],
    fallbacks: Sequence[str] = (),
    options: RequestOptions | None = None,
    api_base: str | None = None,
    local_factory: LocalFactory | None = None,
) -> ChatModel:
    """The model that the user calls `name`: a name of the configuration, or any model string of LiteLLM.

    `fallbacks` replace those of the configuration; `api_base` holds for `name` alone. Raises UserError for
    an unknown model, a missing key, or a key or header that cannot be sent. Nothing is sent.
    """
    builder = _Builder(config, clock, environ, options or RequestOptions(), local_factory)
    models = builder.named(name, api_base)
    for other in fallbacks or config.fallbacks(name):
        models += builder.named(other, None)
    larger: list[ChatModel] = []
    for other in config.context_window_fallbacks(name):
        larger += builder.named(other, None)
    if len(models) == 1 and not larger:
        return models[0]
    return Fallback(models, clock, cooldown=builder.cooldown(), larger=larger)


class _Builder:
    def __init__(
        self,
        config: ModelConfig,
        clock: Clock,
        environ: Mapping[str, str],
        options: RequestOptions,
        local_factory: LocalFactory | None,
    ) -> None:
        self._config = config
        self._clock = clock
        self._environ = {**environ, **_environment(config, environ)}
        self._options = options
        self._local_factory = local_factory
        self._targets = Targets(config, self._environ, options)

    def named(self, name: str, api_base: str | None) -> list[ChatModel]:
        """Every deployment of a name, each with its retries."""
        deployments = self._config.deployments(name) or (Deployment(name, {"model": name}),)
        return [
            self._deployed(deployment, name if number == 1 else f"{name} ({number})", api_base)
            for number, deployment in enumerate(deployments, 1)
        ]

    def cooldown(self) -> float:
        place = self._config.router_settings.get("cooldown_time"), "router_settings.cooldown_time"
        return first_number((place,), self._environ, COOLDOWN)

    def _deployed(self, deployment: Deployment, name: str, api_base: str | None) -> ChatModel:
        params = self._resolved(deployment, name)
        model = str(params["model"])
        if model.startswith(("local/", "local:")):
            if self._local_factory is None:
                raise UserError(f"{model}: the embedded model is not available here.")
            return self._local_factory(model)
        attempt = self._attempt(name, model, params, deployment.model_info, api_base)
        return Retry(attempt, self._policy(params, name), self._clock)

    def _attempt(
        self,
        name: str,
        model: str,
        params: Mapping[str, Any],
        model_info: Mapping[str, Any],
        api_base: str | None,
    ) -> AttemptModel:
        if model.startswith("scripted/"):
            from agent_chat.models.script_file import read_script

            return read_script(model.removeprefix("scripted/"), name)
        if "chaos" in params or model.startswith("chaos/"):
            from agent_chat.models.chaos import Chaos, read_chaos

            rest = {key: value for key, value in params.items() if key != "chaos"}
            inner = self._attempt(name, model.removeprefix("chaos/"), rest, model_info, api_base)
            return Chaos(inner, read_chaos(mapping(params.get("chaos"))))
        target, way = self._targets.make(name, model, params, model_info, api_base)
        if way == "direct":
            from agent_chat.models.direct_model import DirectModel

            return DirectModel(target)
        from agent_chat.models.litellm_model import LiteLLMModel

        return LiteLLMModel(target)

    def _policy(self, params: Mapping[str, Any], name: str) -> RetryPolicy:
        places = (
            (self._options.retries, "retries"),
            (params.get("num_retries"), f"{name}: num_retries"),
            (params.get("max_retries"), f"{name}: max_retries"),
            (self._config.router_settings.get("num_retries"), "router_settings.num_retries"),
            (self._config.litellm_settings.get("num_retries"), "litellm_settings.num_retries"),
        )
        usual, longest = RetryPolicy(), self._options.max_retry_wait
        retries = int(first_number(places, self._environ, usual.retries))
        return RetryPolicy(retries, longest_asked=usual.longest_asked if longest is None else longest)

    def _resolved(self, deployment: Deployment, name: str) -> dict[str, Any]:
        """The parameters with the variables of the environment filled in."""
        params = deployment.litellm_params
        where = f"{name}: litellm_params"
        resolved = {key: resolve(value, self._environ, f"{where}.{key}") for key, value in params.items()}
        key = params.get("api_key")
        if isinstance(key, str) and key.startswith("os.environ/"):
            resolved["api_key_source"] = key.removeprefix("os.environ/")
        return resolved


def _environment(config: ModelConfig, environ: Mapping[str, str]) -> dict[str, str]:
    """LiteLLM's `environment_variables`, which hold for its models."""
    return {
        name: str(resolve(value, environ, f"environment_variables.{name}"))
        for name, value in config.environment_variables.items()
    }
