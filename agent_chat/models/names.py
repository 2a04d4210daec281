"""What a model string such as `openai/gpt-5-mini` means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from agent_chat.core.errors import UserError
from agent_chat.models.catalog import Provider, providers
from agent_chat.models.pricing import known_providers, listed


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model string taken apart."""

    model: str
    """As LiteLLM writes it, prefix included."""
    sent_as: str
    """What the provider is asked for."""
    provider: Provider | None
    """None for a provider that only LiteLLM knows."""


def parse_name(text: str, *, has_base: bool, known: Iterable[str] = ()) -> ModelName:
    """`has_base`: an address was given, so that any name goes. `known`: configured names, for suggestions.

    Raises UserError for a name that nobody can be asked for.
    """
    prefix, slash, rest = text.partition("/")
    if slash and rest and prefix in providers():
        return ModelName(text, rest, providers()[prefix])
    if has_base:
        return ModelName(f"openai/{text}", text, providers()["openai"])
    if slash and rest and prefix in known_providers():
        return ModelName(text, rest, None)
    if not slash and (owner := _owner(text)):
        return ModelName(f"{owner.prefix}/{text}", text, owner)
    raise _unknown(text, known)


def _owner(text: str) -> Provider | None:
    """Whose model a bare name is."""
    for provider in providers().values():
        if any(text.startswith(family) for family in provider.families):
            return provider
    entry = listed(text)
    return providers().get(str(entry.get("litellm_provider"))) if entry else None


def _unknown(text: str, known: Iterable[str]) -> UserError:
    prefix, slash, rest = text.partition("/")
    if slash:
        prefixes = {*providers(), *known_providers()}
        near = [f"{name}/{rest}" for name in get_close_matches(prefix, sorted(prefixes), 3)]
    else:
        near = []
    near += get_close_matches(text, list(known), 3)
    usual = [f"{known.prefix}/{known.default}" for known in providers().values() if known.default]
    meant = f"Did you mean {' or '.join(near)}?" if near else f"For instance {usual[0]} or {usual[1]}."
    return UserError(
        f"There is no model {text!r}: it is neither configured nor of the form provider/model.",
        hint=f"{meant} With an address of your own (--api-base) any name will do.",
    )
