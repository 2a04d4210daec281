"""Which servers there are: `mcpServers` JSON as every client reads it, checked.

Of keys that we do not know, those that look like a slip of one of ours are mistakes; others belong to other
clients and mean nothing here.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from agent_chat.tools.mcp.expansion import Expander

Origin = Literal["command line", "user", "project"]
"""Who named a server. A project may start one, but cannot vouch for it or let it out of the sandbox."""

DEFAULT_TIMEOUT = 120.0
LONGEST_TIMEOUT = 3600.0
LONGEST_NAME = 100
LARGEST = 1_000_000
"""Bytes of a file."""

_KEYS = (
    *("type", "command", "args", "env", "cwd", "url", "headers", "disabled"),
    *("allow", "deny", "timeout", "startTimeout", "trust", "sandbox"),
)
_ALIASES = {"httpUrl": "url", "serverUrl": "url", "includeTools": "allow", "excludeTools": "deny"}
_OTHERS = frozenset(("transport", "description", "autoApprove", "alwaysAllow", "envFile", "name", "oauth"))
_SANDBOX_KEYS = ("network", "readable", "writable")
_HTTP_TYPES = ("http", "streamable-http", "streamableHttp", "streamable_http")


@dataclass(frozen=True, slots=True)
class Stdio:
    """A program that speaks on its standard input and output."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str | None


@dataclass(frozen=True, slots=True)
class Http:
    """A service behind an address, by streamable HTTP."""

    url: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Confined:
    """The sandbox that a program runs in."""

    network: bool = True
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One server, as configured."""

    name: str
    transport: Stdio | Http
    origin: Origin
    place: str
    """The file."""
    allow: tuple[str, ...] | None = None
    """The server's own names of the tools that are offered, with `*` and `?`; None for all."""
    deny: tuple[str, ...] = ()
    timeout: float = DEFAULT_TIMEOUT
    """Seconds for one call."""
    start_timeout: float | None = None
    """Seconds until it must be ready; None for the setting `agent.mcp.start_timeout`."""
    trust: bool = False
    """Whether the user vouches for what the server says of its tools."""
    sandbox: Confined | None = Confined()
    """None: none."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something in a file that cannot be used, with what to do instead."""

    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


@dataclass(frozen=True, slots=True)
class Parsed:
    servers: tuple[ServerConfig, ...]
    mistakes: tuple[Mistake, ...]
    warnings: tuple[str, ...]


def parse_servers(
    text: str,
    place: str,
    origin: Origin,
    environ: Mapping[str, str],
    withheld: Collection[str] = (),
) -> Parsed:
    """The servers of a file's text. A server with a mistake is left out, the others are there.

    `withheld`: variables that the file may not use.
    """
    reader = _Reader(place, origin, Expander(environ, withheld))
    servers = tuple(reader.servers(text))
    return Parsed(servers, tuple(reader.mistakes), tuple(reader.warnings))


class _Wrong(Exception):
    """A mistake, as far as it is known: where, below the server, and what."""

    def __init__(self, at: str, text: str) -> None:
        super().__init__(text)
        self.at = at


class _Reader:
    def __init__(self, place: str, origin: Origin, expander: Expander) -> None:
        self._place = place
        self._origin: Origin = origin
        self._expander = expander
        self.mistakes: list[Mistake] = []
        self.warnings: list[str] = []

    def servers(self, text: str) -> list[ServerConfig]:
        entries = self._entries(text)
        found: list[ServerConfig] = []
        for name, entry in entries.items():
            try:
                if not name.strip() or len(name) > LONGEST_NAME:
                    raise _Wrong("", f"a server's name has 1 to {LONGEST_NAME} characters")
                server = self._server(name, _mapping(entry, ""))
            except _Wrong as wrong:
                at = ".".join(filter(None, ("mcpServers", name, wrong.at)))
                self.mistakes.append(Mistake(f"{self._place}: {at}", str(wrong)))
            else:
                found += [server] if server is not None else []
        return found

    def _entries(self, text: str) -> dict[str, Any]:
        if not text.strip():
            return {}
        try:
            root = json.loads(text, object_pairs_hook=_no_duplicates)
        except json.JSONDecodeError as error:
            where = f"{self._place}, line {error.lineno}, column {error.colno}"
            self.mistakes.append(Mistake(where, f"this is no JSON: {error.msg}"))
            return {}
        except (ValueError, RecursionError) as error:
            self.mistakes.append(Mistake(self._place, str(error) or "it is nested too deeply"))
            return {}
        advice = 'write {"mcpServers": {"NAME": {"command": …}}}'
        if not isinstance(root, dict):
            self.mistakes.append(Mistake(self._place, f"it must be a JSON object: {advice}"))
            return {}
        root = cast("dict[str, Any]", root)
        servers = root.get("mcpServers")
        if servers is None and "mcpServers" not in root:
            near = difflib.get_close_matches("mcpservers", [key.lower() for key in root], n=1, cutoff=0.6)
            wrong = next((key for key in root if near and key.lower() == near[0]), None)
            said = f"'{wrong}' means nothing here; did you mean 'mcpServers'?" if wrong else ""
            self.mistakes.append(Mistake(self._place, said or f"there is no 'mcpServers' in it: {advice}"))
            return {}
        if not isinstance(servers, dict):
            self.mistakes.append(Mistake(f"{self._place}: mcpServers", f"it must be an object: {advice}"))
            return {}
        return cast("dict[str, Any]", servers)

    def _server(self, name: str, entry: dict[str, Any]) -> ServerConfig | None:
        _check_keys(entry)
        if _boolean(entry, "disabled", default=False):
            return None
        timeout = _seconds(entry, "timeout")
        return ServerConfig(
            name=name,
            transport=self._transport(entry),
            origin=self._origin,
            place=self._place,
            allow=tuple(_texts(entry, "allow")) if entry.get("allow") is not None else None,
            deny=tuple(_texts(entry, "deny")),
            timeout=DEFAULT_TIMEOUT if timeout is None else timeout,
            start_timeout=_seconds(entry, "startTimeout"),
            trust=self._trust(name, entry),
            sandbox=self._sandbox(name, entry),
        )

    def _transport(self, entry: dict[str, Any]) -> Stdio | Http:
        kind = entry.get("type")
        if kind == "sse":
            raise _Wrong("type", "'sse' is a transport of the past; name the server's address for 'http'")
        if kind not in (None, "stdio", *_HTTP_TYPES):
            raise _Wrong("type", f"{kind!r} is no transport; write 'stdio' or 'http'")
        if "command" in entry and "url" in entry:
            raise _Wrong("", "it has both 'command' and 'url'; write one of them")
        if kind in _HTTP_TYPES or (kind is None and "url" in entry):
            return self._http(entry)
        if "command" not in entry:
            raise _Wrong("", "it has neither 'command' nor 'url'")
        command = self._text(entry, "command")
        if not command.strip():
            raise _Wrong("command", "it is empty")
        args = tuple(self._expand(text, f"args[{index}]") for index, text in enumerate(_texts(entry, "args")))
        cwd = self._text(entry, "cwd") if entry.get("cwd") is not None else None
        return Stdio(command, args, self._pairs(entry, "env"), cwd)

    def _http(self, entry: dict[str, Any]) -> Http:
        if "url" not in entry:
            raise _Wrong("", "a server of type 'http' needs a 'url'")
        url = self._text(entry, "url").strip()
        if not url.startswith(("http://", "https://")) or len(url.split("/", 3)[2]) == 0:
            raise _Wrong("url", "write the whole address, as in https://example.com/mcp")
        headers = self._pairs(entry, "headers")
        for key, value in headers.items():
            if not key.isascii() or not value.isascii() or not (key + value).isprintable():
                raise _Wrong(f"headers.{key}", "only printable ASCII characters can travel in a header")
        return Http(url, headers)

    def _trust(self, name: str, entry: dict[str, Any]) -> bool:
        wanted = _boolean(entry, "trust", default=False)
        if wanted and self._origin == "project":
            self._warn(name, "trust", "a project cannot vouch for a server")
            return False
        return wanted

    def _sandbox(self, name: str, entry: dict[str, Any]) -> Confined | None:
        wanted = entry.get("sandbox", True)
        if wanted is True or wanted is None:
            return Confined()
        if self._origin == "project" and wanted is False:
            self._warn(name, "sandbox", "a project cannot take a server out of the sandbox")
            return Confined()
        if wanted is False:
            return None
        options = _mapping(wanted, "sandbox")
        for key in options:
            if key not in _SANDBOX_KEYS:
                raise _Wrong(f"sandbox.{key}", _unknown(key, _SANDBOX_KEYS))
        if self._origin == "project" and (options.get("readable") or options.get("writable")):
            self._warn(name, "sandbox", "a project cannot show a server more folders")
            options = {"network": options.get("network", True)}
        return Confined(
            _boolean(options, "network", default=True, at="sandbox."),
            tuple(self._expand(text, "sandbox.readable") for text in _texts(options, "readable", "sandbox.")),
            tuple(self._expand(text, "sandbox.writable") for text in _texts(options, "writable", "sandbox.")),
        )

    def _warn(self, name: str, key: str, why: str) -> None:
        self.warnings.append(f"{self._place}: mcpServers.{name}.{key} is ignored: {why}")

    def _text(self, entry: dict[str, Any], key: str) -> str:
        value = entry[key]
        if not isinstance(value, str):
            raise _Wrong(key, "it must be text in quotes")
        return self._expand(value, key)

    def _pairs(self, entry: dict[str, Any], key: str) -> dict[str, str]:
        pairs: dict[str, str] = {}
        for name, value in _mapping(entry.get(key) or {}, key).items():
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                raise _Wrong(f"{key}.{name}", "it must be text in quotes")
            pairs[name] = self._expand(str(value), f"{key}.{name}")
        return pairs

    def _expand(self, text: str, at: str) -> str:
        try:
            expanded = self._expander.expand(text)
        except ValueError as error:
            raise _Wrong(at, str(error)) from error
        if "\0" in expanded:
            raise _Wrong(at, "it holds a NUL character")
        return expanded


def _check_keys(entry: dict[str, Any]) -> None:
    for key in entry:
        if key in _KEYS or key in _OTHERS:
            continue
        if key in _ALIASES:
            raise _Wrong(key, f"did you mean '{_ALIASES[key]}'?")
        near = difflib.get_close_matches(key.lower(), [known.lower() for known in _KEYS], n=1, cutoff=0.8)
        if near:
            raise _Wrong(key, _unknown(key, _KEYS))


def _unknown(key: str, known: Collection[str]) -> str:
    by_lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(key.lower(), list(by_lower), n=1)
    return f"did you mean '{by_lower[near[0]]}'?" if near else f"there are: {', '.join(known)}"


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"'{key}' stands there twice; keep one")
        found[key] = value
    return found


def _mapping(value: Any, at: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Wrong(at, "it must be an object in { }")
    return cast("dict[str, Any]", value)


def _boolean(entry: dict[str, Any], key: str, *, default: bool, at: str = "") -> bool:
    value = entry.get(key, default)
    if not isinstance(value, bool):
        raise _Wrong(at + key, "it must be true or false")
    return value


def _texts(entry: dict[str, Any], key: str, at: str = "") -> list[str]:
    value = entry.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in cast("list[Any]", value)):
        raise _Wrong(at + key, 'it must be a list of texts, as in ["a", "b"]')
    return cast("list[str]", value)


def _seconds(entry: dict[str, Any], key: str) -> float | None:
    value = entry.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LONGEST_TIMEOUT:
        raise _Wrong(key, f"it must be a number of seconds, more than 0 and at most {LONGEST_TIMEOUT:g}")
    return float(value)


def resolved(path: str, base: Path) -> Path:
    """A path of the configuration: `~` is the home, and a relative one starts at `base`."""
    found = Path(path).expanduser()
    return found if found.is_absolute() else base / found
