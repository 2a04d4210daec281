"""What models there are to choose from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agent_chat.cli.choose_model import default_embedded
from agent_chat.cli.load_settings import Loaded
from agent_chat.cli.settings_show import masked
from agent_chat.local.catalog import CATALOG
from agent_chat.local.download import fetched
from agent_chat.local.machine import gib
from agent_chat.models.catalog import key_in, providers


def list_models(loaded: Loaded) -> Mapping[str, Any]:
    """`embedded`, `providers` and `configured`, each a list of objects; no keys, only their variables."""
    default = default_embedded()[0].name
    embedded: list[dict[str, Any]] = []
    for entry in CATALOG.values():
        path = fetched(entry)
        embedded.append(
            {
                "name": f"local/{entry.name}",
                "summary": entry.summary,
                "size": entry.size,
                "license": entry.license,
                "downloaded": path is not None,
                "path": str(path) if path is not None else None,
                "default": entry.name == default,
            }
        )
    offered = [
        {
            "provider": provider.prefix,
            "name": provider.name,
            "default": f"{provider.prefix}/{provider.default}" if provider.default else None,
            "keys": list(provider.keys),
            "key_set": key_in(loaded.environ, provider),
        }
        for provider in providers().values()
        if provider.keys
    ]
    configured = [
        {
            "name": entry.model_name,
            "model": masked(entry.litellm_params.model),
            "source": str(loaded.tree.source_at(("model_list", place))),
        }
        for place, entry in enumerate(loaded.settings.model_list)
    ]
    return {"configured": configured, "providers": offered, "embedded": embedded}


def as_lines(listing: Mapping[str, Any]) -> Iterator[str]:
    """The listing for people: what can be used at once before what needs something first."""
    if listing["configured"]:
        yield "Configured"
        yield from _columns([(item["name"], item["model"], item["source"]) for item in listing["configured"]])
        yield ""
    yield "Embedded (no key, no network once fetched)"
    yield from _columns(
        [
            (
                item["name"],
                gib(item["size"]),
                "downloaded" if item["downloaded"] else "not downloaded",
                item["summary"],
            )
            for item in listing["embedded"]
        ]
    )
    yield ""
    yield "Providers (others: every one that LiteLLM knows, as provider/model)"
    ordered = sorted(listing["providers"], key=lambda item: item["key_set"] is None)
    yield from _columns(
        [
            (
                item["default"] or f"{item['provider']}/…",
                f"{item['key_set']} is set" if item["key_set"] else f"needs {item['keys'][0]}",
            )
            for item in ordered
        ]
    )


def _columns(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
