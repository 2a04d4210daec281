"""Which model answers: what the settings say, else what is there, with a line that says why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_chat.cli.load_settings import Loaded
from agent_chat.core.errors import UserError
from agent_chat.models.catalog import LOCAL_SERVERS, LocalServer, choose_by_key, find_local_server

if TYPE_CHECKING:
    from agent_chat.local.catalog import CatalogEntry

BASE_VARIABLE = "OPENAI_BASE_URL"
_BY_HAND = "choose with --model"


@dataclass(frozen=True, slots=True)
class Choice:
    """The model of a session."""

    model: str
    """A name of `model_list`, `provider/model`, or `local/NAME`."""
    reason: str = ""
    """One line for stderr; empty where the settings name the model."""
    api_base: str | None = None
    """Where it answers; None: where `model_list` says, or its provider is."""


async def choose_model(loaded: Loaded, servers: Sequence[LocalServer] = LOCAL_SERVERS) -> Choice:
    """The main model. Connects to nothing but a server that was named, or else to this machine.

    In order: the main role, the `model_list` (unless `--api-base` names a server), a named OpenAI-compatible
    server, a provider whose key is set, a server on this machine, the embedded model. Raises UserError where
    that leaves nothing.
    """
    main = loaded.agent.roles.main
    if main is not None:
        return Choice(main, api_base=_base_for(loaded, main))
    base = loaded.agent.api_base
    source = loaded.source("agent", "api_base")
    if loaded.settings.model_list and not (base and source.kind == "option"):
        return _first_configured(loaded)
    named = str(source) if base else BASE_VARIABLE
    base = base or loaded.environ.get(BASE_VARIABLE, "").strip()
    if base:
        return await _of_server(base, named, loaded.environ)
    found = choose_by_key(loaded.environ) or await find_local_server(servers)
    if found is not None:
        reason = f"using {found.model} because {found.reason}; {_BY_HAND}"
        return Choice(found.model, reason, found.api_base)
    return embedded_choice()


def embedded_choice() -> Choice:
    """The embedded model that suits this machine. Raises UserError where its engine is not installed."""
    from importlib.util import find_spec

    if find_spec("xllamacpp") is None:
        raise UserError(
            "There is no model: no provider's key is set, no server answers on this machine, and the embedded"
            " model is not installed.",
            hint="Set a key such as ANTHROPIC_API_KEY, or start Ollama, or pip install 'agent-chat[local]'.",
        )
    entry, why = default_embedded()
    reason = (
        f"using local/{entry.name} ({why}) because no provider's key is set and no server answers on this"
        f" machine; {_BY_HAND}"
    )
    return Choice(f"local/{entry.name}", reason)


def default_embedded() -> tuple[CatalogEntry, str]:
    """The embedded model for this machine, and why it is that one."""
    from agent_chat.local.catalog import default_entry
    from agent_chat.local.download import fetched, models_folder
    from agent_chat.local.machine import available_disk, available_memory

    largest, _ = default_entry(None, None)
    # What is fetched already needs no more room.
    disk = None if fetched(largest) else available_disk(models_folder())
    return default_entry(available_memory(), disk)


def _base_for(loaded: Loaded, model: str) -> str | None:
    """`api_base`, which holds for a model of `model_list` only where it was given as an option."""
    base = loaded.agent.api_base
    is_option = loaded.source("agent", "api_base").kind == "option"
    return base if base and (is_option or not loaded.model_config().deployments(model)) else None


def _first_configured(loaded: Loaded) -> Choice:
    names = [entry.model_name for entry in loaded.settings.model_list]
    if "main" in names:
        return Choice("main", api_base=_base_for(loaded, "main"))
    source = loaded.source("model_list")
    reason = f"using {names[0]} because it is the first of {source}; {_BY_HAND}"
    return Choice(names[0], reason, _base_for(loaded, names[0]))


async def _of_server(base: str, named: str, environ: Mapping[str, str]) -> Choice:
    models = await _models_of(base, named, environ)
    preferred = choose_by_key({"OPENAI_API_KEY": environ.get("OPENAI_API_KEY", "")})
    usual = preferred.model.removeprefix("openai/") if preferred is not None else ""
    model = usual if usual in models else models[0]
    return Choice(f"openai/{model}", f"using openai/{model} because {named} is {base}; {_BY_HAND}", base)


async def _models_of(base: str, named: str, environ: Mapping[str, str]) -> list[str]:
    """The models that an OpenAI-compatible server offers, at least one. Raises UserError."""
    import httpx

    from agent_chat.models.loose import mapping, sequence
    from agent_chat.models.secret import clean_key

    address = base.rstrip("/").removesuffix("/chat/completions") + "/models"
    key = clean_key(environ.get("OPENAI_API_KEY", ""), "OPENAI_API_KEY")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        async with httpx.AsyncClient(timeout=5.0) as client:
            answer = await client.get(address, headers=headers)
        answer.raise_for_status()
        listed = sequence(mapping(answer.json()).get("data"))
    except httpx.HTTPStatusError as error:
        problem = f"{address} answered {error.response.status_code}"
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        problem = f"{address} did not answer: {error or type(error).__name__}"
    except ValueError:
        problem = f"{address} did not answer with a list of models"
    else:
        names = [str(name) for entry in listed if (name := mapping(entry).get("id"))]
        if names:
            return names
        problem = f"{address} lists no model"
    raise UserError(
        f"No model is named, and {problem} ({named}).",
        hint="Name the model, as in --model openai/NAME; an address usually ends in /v1.",
    )
