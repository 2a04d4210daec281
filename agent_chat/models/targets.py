"""From a deployment's parameters to the model that is asked, its address, its key and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from agent_chat.core.errors import UserError
from agent_chat.models.attempt import Target
from agent_chat.models.catalog import Provider, key_in
from agent_chat.models.deployments import ModelConfig
from agent_chat.models.loose import mapping
from agent_chat.models.names import ModelName, parse_name
from agent_chat.models.numbers import first_number
from agent_chat.models.options import RequestOptions
from agent_chat.models.parameters import for_direct, for_litellm
from agent_chat.models.secret import clean_header, clean_key

Params = Mapping[str, Any]
"""`litellm_params` with the variables of the environment filled in."""
Way = Literal["direct", "litellm"]


class Targets:
    """Makes targets of one configuration. Everything raises UserError for what the user can mend."""

    def __init__(self, config: ModelConfig, environ: Mapping[str, str], options: RequestOptions) -> None:
        self._config = config
        self._environ = environ
        self._options = options

    def make(
        self, name: str, model: str, params: Params, model_info: Mapping[str, Any], api_base: str | None
    ) -> tuple[Target, Way]:
        """The target, and which way it is asked."""
        given = api_base or params.get("api_base") or params.get("base_url")
        parsed = parse_name(_prefixed(model, params), has_base=bool(given), known=self._config.names())
        base, is_own = self._base(parsed.provider, given)
        way = self._way(parsed, params, base, name)
        key, source = self._key(parsed.provider, params, name, optional=not is_own)
        limit = "max_tokens"
        # LiteLLM translates it itself, and servers that only resemble OpenAI's know the older name.
        if parsed.provider is not None and is_own and way == "direct":
            limit = parsed.provider.limit_parameter
        target = Target(
            name=name,
            model=parsed.model,
            sent_as=parsed.sent_as,
            base=base or "",
            key=key,
            key_source=source,
            headers=self._headers(params),
            parameters=self._parameters(params, way, limit),
            limit_parameter=limit,
            idle_limit=self._idle_limit(params, name),
            connect_limit=self._options.connect_timeout or 10.0,
            prices={**{key: value for key, value in params.items() if "_cost" in key}, **model_info},
        )
        return target, way

    def _base(self, provider: Provider | None, given: Any) -> tuple[str | None, bool]:
        """The address, and whether it is the provider's own."""
        base = str(given).strip() if given else ""
        if not base and provider is not None:
            found = (self._environ.get(variable, "").strip() for variable in provider.base_variables)
            base = next((value for value in found if value), "")
        if not base:
            return (provider.base if provider else None), True
        base = base.rstrip("/")
        if provider is not None and provider.adds_v1 and not base.endswith(("/v1", "/chat/completions")):
            base += "/v1"
        return base if "://" in base else f"http://{base}", False

    def _way(self, parsed: ModelName, params: Params, base: str | None, name: str) -> Way:
        provider = parsed.provider
        asked = params.get("transport") or self._options.transport
        speaks_openai = provider is not None and provider.base is not None
        if asked == "direct" and not speaks_openai:
            raise UserError(
                f"{name}: {parsed.model} cannot be asked directly, for its provider has a format of its own.",
                hint="Leave out `transport: direct`.",
            )
        if provider is not None and speaks_openai and not base:
            variable = provider.base_variables[0]
            raise UserError(f"{name}: the address is missing.", hint=f"Set {variable}, or give an api_base.")
        return "direct" if speaks_openai and asked != "litellm" else "litellm"

    def _key(
        self, provider: Provider | None, params: Params, name: str, *, optional: bool
    ) -> tuple[str | None, str]:
        """The key, and the variable or setting that it came from."""
        if params.get("api_key"):
            source = str(params.get("api_key_source") or f"api_key of {name}")
            return clean_key(str(params["api_key"]), source), source
        if provider is None:
            return None, ""
        if variable := key_in(self._environ, provider):
            return clean_key(self._environ[variable], variable), variable
        if optional or provider.keyless or not provider.keys:
            return None, ""
        raise UserError(
            f"{name}: no key for {provider.name}: {provider.keys[0]} is not set.",
            hint=f"Set it (export {provider.keys[0]}=…), or choose another model.",
        )

    def _headers(self, params: Params) -> dict[str, str]:
        given = {**mapping(params.get("extra_headers")), **self._options.headers}
        return {name: clean_header(name, str(value)) for name, value in given.items()}

    def _parameters(self, params: Params, way: Way, limit: str) -> dict[str, Any]:
        chosen = for_direct(params) if way == "direct" else for_litellm(params, self._config)
        chosen |= self._options.parameters
        for name in ("max_tokens", "max_completion_tokens"):
            if name in chosen:
                chosen[limit] = chosen.pop(name)
        if self._options.max_output_tokens is not None:
            chosen[limit] = self._options.max_output_tokens
        return chosen

    def _idle_limit(self, params: Params, name: str) -> float:
        router, settings = self._config.router_settings, self._config.litellm_settings
        places = (
            (self._options.idle_timeout, "idle_timeout"),
            (params.get("stream_timeout"), f"{name}: stream_timeout"),
            (params.get("timeout"), f"{name}: timeout"),
            (router.get("stream_timeout"), "router_settings.stream_timeout"),
            (router.get("timeout"), "router_settings.timeout"),
            (settings.get("request_timeout"), "litellm_settings.request_timeout"),
        )
        return first_number(places, self._environ, 300.0)


def _prefixed(model: str, params: Params) -> str:
    """LiteLLM also takes the provider from a parameter of its own."""
    custom = params.get("custom_llm_provider")
    if not isinstance(custom, str) or not custom or model.startswith(f"{custom}/"):
        return model
    return f"{'openai' if custom == 'custom_openai' else custom}/{model}"
