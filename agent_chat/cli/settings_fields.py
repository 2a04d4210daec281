"""Every setting of ours by its path: what environment variables, `--set` and suggestions go by."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from agent_chat.cli.settings import AgentSettings, Settings

VARIABLE_PREFIX = "AGENT_CHAT_"
MODEL_ALIAS = ("model",)
"""`agent.model` is short for `agent.roles.main`."""

FieldKind = Literal["text", "list", "mapping", "value"]

# What LiteLLM's own configuration may hold beside the parts that we read.
LITELLM_KEYS = frozenset(
    (
        "agent_list",
        "agents",
        "assistant_settings",
        "callback_settings",
        "classifier_plugin",
        "credential_list",
        "default_vertex_config",
        "files_settings",
        "finetune_settings",
        "guardrails",
        "include",
        "mcp_aliases",
        "mcp_servers",
        "mcp_tools",
        "pass_through_endpoints",
        "plugins",
        "policies",
        "policy_attachments",
        "prompts",
        "sandbox_tools",
        "search_tools",
        "skills",
        "vector_store_registry",
        "worker_registry",
    )
)
TOP_LEVEL = frozenset(Settings.model_fields) | LITELLM_KEYS


@dataclass(frozen=True, slots=True)
class SettingField:
    """One setting below `agent`."""

    path: tuple[str, ...]
    """Below `agent`, such as `("limits", "turn", "max_iterations")`."""
    kind: FieldKind
    """`text` is taken as it stands, everything else is read as YAML."""
    annotation: Any
    default: Any

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return VARIABLE_PREFIX + "_".join(self.path).upper()

    @property
    def name(self) -> str:
        return ".".join(("agent", *self.path))


@cache
def setting_fields() -> tuple[SettingField, ...]:
    """All of them, in the order in which they are declared; without sections and profiles."""
    return tuple(_walk(AgentSettings, ()))


def find_field(path: tuple[str, ...]) -> SettingField | None:
    """The setting at a path below `agent`; also by its short form, also inside a profile."""
    if len(path) > 2 and path[0] == "profiles":
        path = path[2:]
    path = ("roles", "main") if path == MODEL_ALIAS else path
    return next((field for field in setting_fields() if field.path == path), None)


def section_keys(path: tuple[str, ...]) -> tuple[str, ...]:
    """The keys that a mapping at this path (from the top) may hold; empty where any key may stand."""
    match path:
        case ():
            return tuple(sorted(TOP_LEVEL))
        case ("agent", *below) | ("agent", "profiles", str(), *below):
            if below[:1] == ["profiles"]:
                return section_keys(("agent", *below[2:])) if len(below) > 1 else ()
            keys = {field.path[len(below)] for field in setting_fields() if _is_below(field.path, below)}
            return tuple(sorted(keys | {"model", "profiles"} if not below else keys))
        case _:
            return ()


def suggest(key: str, path: tuple[str, ...]) -> str:
    """What somebody who wrote `key` at `path` may have meant, as a sentence; empty where nothing is near."""
    siblings = section_keys(path)
    known = {MODEL_ALIAS[-1]: "agent.model"}
    for field in setting_fields():
        known.setdefault(field.path[-1], field.name)
    if key in known:
        parent = known[key].rpartition(".")[0]
        return f"It belongs under '{parent}', as '{known[key]}'."
    close = nearest(key, (*siblings, MODEL_ALIAS[-1]), cutoff=0.75)
    best = close or nearest(key, (*siblings, *known))
    if best is None:
        return ""
    full = "" if best in siblings else f" (in full: {known[best]})"
    return f"Did you mean '{best}'{full}?"


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known word most like this one, if any is."""
    found = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=cutoff)
    return found[0] if found else None


def _is_below(path: tuple[str, ...], section: list[str]) -> bool:
    return len(path) > len(section) and list(path[: len(section)]) == section


def _walk(model: type[BaseModel], prefix: tuple[str, ...]) -> Iterator[SettingField]:
    for name, info in model.model_fields.items():
        if name == "profiles":
            continue
        annotation = info.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from _walk(annotation, (*prefix, name))
        else:
            yield SettingField((*prefix, name), _kind(annotation), annotation, _default(info))


def _default(info: FieldInfo) -> Any:
    return info.get_default(call_default_factory=True)


def _kind(annotation: Any) -> FieldKind:
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        inner = [item for item in get_args(annotation) if item is not NoneType]
        return _kind(inner[0]) if len(inner) == 1 else "value"
    if origin is Literal or annotation is str:
        return "text"
    if origin is tuple:
        return "list"
    metadata = getattr(annotation, "__metadata__", None)
    if metadata is not None:
        return _kind(annotation.__origin__)
    return "mapping" if origin is not None else "value"
