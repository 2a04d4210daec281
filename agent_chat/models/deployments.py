"""LiteLLM's configuration format, as it is: which models there are and how they are to be asked.

What a LiteLLM proxy reads is read here too. Keys that only the proxy understands are left alone. One key
is ours: `transport: direct | litellm` in `litellm_params` says which way a model is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_chat.core.errors import UserError
from agent_chat.models.loose import mapping, sequence

_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Deployment:
    """One entry of `model_list`."""

    model_name: str
    """What users call it; several deployments may share it."""
    litellm_params: Mapping[str, Any]
    model_info: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def model(self) -> str:
        """As LiteLLM writes it, such as `openai/gpt-5-mini`."""
        return str(self.litellm_params["model"])


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The model part of a configuration file."""

    model_list: tuple[Deployment, ...] = ()
    litellm_settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    router_settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    general_settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    environment_variables: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> ModelConfig:
        """From the parsed file; other keys of it are not looked at. Raises UserError with the place."""
        entries = sequence(raw.get("model_list"))
        if raw.get("model_list") and not entries:
            raise UserError("model_list: a list of models is expected.")
        return cls(
            tuple(_deployment(entry, place) for place, entry in enumerate(entries)),
            _section(raw, "litellm_settings"),
            _section(raw, "router_settings"),
            _section(raw, "general_settings"),
            {name: str(value) for name, value in _section(raw, "environment_variables").items()},
        )

    def names(self) -> tuple[str, ...]:
        """The names that users may say, aliases included."""
        return tuple(dict.fromkeys((*(entry.model_name for entry in self.model_list), *self._aliases())))

    def deployments(self, name: str) -> tuple[Deployment, ...]:
        """Those that answer to a name, to an alias, or, as with `openai/*`, to all that a name covers."""
        name = self._aliases().get(name, name)
        found = tuple(entry for entry in self.model_list if entry.model_name == name)
        return found or tuple(
            _filled(entry, name) for entry in self.model_list if _covers(entry.model_name, name)
        )

    def setting(self, name: str) -> Any:
        """A setting that LiteLLM takes in either place; the router's comes first."""
        value = self.router_settings.get(name)
        return self.litellm_settings.get(name) if value is None else value

    def fallbacks(self, name: str) -> tuple[str, ...]:
        """Who answers, in order, when `name` cannot."""
        own = self._mapped("fallbacks", name)
        return own or _names(self.setting("default_fallbacks"))

    def context_window_fallbacks(self, name: str) -> tuple[str, ...]:
        """Who answers, in order, when the conversation does not fit `name`."""
        return self._mapped("context_window_fallbacks", name)

    def _mapped(self, setting: str, name: str) -> tuple[str, ...]:
        """From LiteLLM's list of one-entry mappings, `[{main: [backup]}]`."""
        for entry in sequence(self.setting(setting)):
            for asked in (name, "*"):
                if asked in mapping(entry):
                    return _names(mapping(entry)[asked])
        return ()

    def _aliases(self) -> dict[str, str]:
        """LiteLLM writes an alias as `alias: name` or as `alias: {model: name, hidden: …}`."""
        aliases: dict[str, str] = {}
        for alias, target in mapping(self.setting("model_group_alias")).items():
            name = mapping(target).get("model", target)
            if isinstance(name, str):
                aliases[alias] = name
        return aliases


def _names(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(str(name) for name in sequence(value))


def _section(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = mapping(raw.get(name))
    if raw.get(name) and not section:
        raise UserError(f"{name}: settings as `key: value` are expected.")
    return section


def _deployment(entry: object, place: int) -> Deployment:
    fields, where = mapping(entry), f"model_list[{place}]"
    name, params = fields.get("model_name"), mapping(fields.get("litellm_params"))
    if not isinstance(name, str) or not name:
        raise UserError(f"{where}: model_name is missing.", hint="It is what you call the model.")
    if not isinstance(params.get("model"), str) or not params["model"]:
        raise UserError(
            f"{where} ({name}): litellm_params.model is missing.",
            hint="For instance: litellm_params: {model: openai/gpt-5-mini}",
        )
    transport = params.get("transport")
    if transport not in (None, "auto", "direct", "litellm"):
        raise UserError(
            f"{where} ({name}): litellm_params.transport is {transport!r}.", hint="Say direct or litellm."
        )
    return Deployment(name, params, mapping(fields.get("model_info")))


def _covers(pattern: str, name: str) -> bool:
    return pattern.endswith("*") and name.startswith(pattern[:-1])


def _filled(entry: Deployment, name: str) -> Deployment:
    """A wildcard's deployment for one name."""
    rest = name[len(entry.model_name) - 1 :]
    params = {**entry.litellm_params, "model": entry.model.replace("*", rest)}
    return Deployment(name, params, entry.model_info)


def resolve(value: Any, environ: Mapping[str, str], where: str) -> Any:
    """`os.environ/NAME` as the variable's value. Raises UserError where it is not set."""
    if not isinstance(value, str) or not value.startswith("os.environ/"):
        return value
    name = value.removeprefix("os.environ/")
    found = environ.get(name)
    if found is None:
        raise UserError(f"{where}: the variable {name} is not set.", hint=f"Set it: export {name}=…")
    return found
