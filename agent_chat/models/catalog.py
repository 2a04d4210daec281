"""Which model answers when nothing is configured, and what is known of the providers.

A provider whose key is in the environment comes first, then a server on this machine that answers on its
usual port, then (nothing found here) the embedded model.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from agent_chat.models.loose import mapping, sequence

PROBE_LIMIT = 0.3
"""Seconds for all local servers together."""
_MAX_ANSWER = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider, as LiteLLM's prefix names it."""

    prefix: str
    name: str
    """For people."""
    keys: tuple[str, ...] = ()
    """Variables that may hold its key, the usual one first."""
    keyless: bool = False
    """Whether it may be asked without a key."""
    default: str | None = None
    """Its current general model, without the prefix."""
    base: str | None = None
    """Its OpenAI-compatible address; None where it has none and LiteLLM has to translate."""
    base_variables: tuple[str, ...] = ()
    """Variables that may hold another address."""
    adds_v1: bool = False
    """Whether its users leave `/v1` out of the address."""
    limit_parameter: str = "max_tokens"
    """What it calls the limit of output tokens."""
    families: tuple[str, ...] = ()
    """How the names of its own models begin."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The model that was chosen, and why."""

    model: str
    """As LiteLLM writes it, such as `anthropic/claude-sonnet-4-5`."""
    reason: str
    """One line for people."""
    api_base: str | None = None


@dataclass(frozen=True, slots=True)
class LocalServer:
    name: str
    prefix: str
    port: int


LOCAL_SERVERS = (
    LocalServer("Ollama", "ollama", 11434),
    LocalServer("LM Studio", "lm_studio", 1234),
    LocalServer("llama.cpp", "llamafile", 8080),
    LocalServer("vLLM", "hosted_vllm", 8000),
)


@cache
def providers() -> Mapping[str, Provider]:
    """All providers of the catalogue by prefix, in order of preference."""
    text = Path(__file__).with_name("providers.json").read_text("utf-8")
    entries: dict[str, Any] = json.loads(text)
    return {prefix: _provider(prefix, mapping(entry)) for prefix, entry in entries.items() if prefix != "//"}


def _provider(prefix: str, entry: Mapping[str, Any]) -> Provider:
    lists = {name: tuple(sequence(value)) for name, value in entry.items() if value == sequence(value)}
    fields: dict[str, Any] = {**entry, **lists}
    return Provider(prefix, **fields)


def key_in(environ: Mapping[str, str], provider: Provider) -> str | None:
    """The variable that holds the provider's key; None where none does."""
    return next((name for name in provider.keys if environ.get(name, "").strip()), None)


def choose_by_key(environ: Mapping[str, str]) -> Choice | None:
    """The current model of the first provider whose key is in the environment."""
    for provider in providers().values():
        if provider.default and (variable := key_in(environ, provider)):
            return Choice(f"{provider.prefix}/{provider.default}", f"{variable} is set")
    return None


async def choose_default(
    environ: Mapping[str, str], servers: Sequence[LocalServer] = LOCAL_SERVERS
) -> Choice | None:
    """The model to use when none is named; None means the embedded one. Takes at most `PROBE_LIMIT` beyond
    looking at the environment, and connects to nothing but this machine."""
    return choose_by_key(environ) or await find_local_server(servers)


async def find_local_server(servers: Sequence[LocalServer] = LOCAL_SERVERS) -> Choice | None:
    """The first model of the first of these servers that answers."""
    answers = await asyncio.gather(*(_first_model(server.port) for server in servers))
    for server, model in zip(servers, answers, strict=True):
        if model is not None:
            base = f"http://127.0.0.1:{server.port}/v1"
            return Choice(f"{server.prefix}/{model}", f"{server.name} answers on port {server.port}", base)
    return None


async def _first_model(port: int) -> str | None:
    try:
        async with asyncio.timeout(PROBE_LIMIT):
            body = await _get_models(port)
    except (OSError, TimeoutError, ValueError, asyncio.LimitOverrunError, EOFError):
        return None
    for entry in sequence(mapping(body).get("data")):
        name = mapping(entry).get("id")
        if isinstance(name, str) and name:
            return name
    return None


async def _get_models(port: int) -> Any:
    """`GET /v1/models`, without the cost of an HTTP client where, as nearly always, nothing listens."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=_MAX_ANSWER)
    try:
        request = f"GET /v1/models HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nAccept: application/json\r\n\r\n"
        writer.write(request.encode())
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head.split(b"\r\n", 1)[0]:
            return None
        return json.loads(await _body(head, reader))
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _body(head: bytes, reader: asyncio.StreamReader) -> bytes:
    """The body: of the length that the head gives, else up to the end. (HTTP/1.0 rules chunks out.)"""
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return await reader.readexactly(min(int(line.partition(b":")[2]), _MAX_ANSWER))
    return await reader.read(_MAX_ANSWER)
