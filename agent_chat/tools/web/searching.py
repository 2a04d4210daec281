"""Searches of the web, by the provider that the user has a key or a server of."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from agent_chat.tools.errors import ToolError
from agent_chat.tools.web.fetching import CONNECT_SECONDS, IDLE_SECONDS, PASSING

ProviderName = Literal["brave", "tavily", "searxng"]
KEYS: dict[ProviderName, str] = {"brave": "BRAVE_API_KEY", "tavily": "TAVILY_API_KEY"}
"""The variables that hold the providers' keys."""
MAX_ANSWER = 2 * 1024 * 1024
"""Bytes."""
_ADDRESSES: dict[ProviderName, str] = {
    "brave": "https://api.search.brave.com/res/v1/web/search",
    "tavily": "https://api.tavily.com/search",
}


@dataclass(frozen=True, slots=True)
class Hit:
    title: str
    url: str
    snippet: str


@dataclass(frozen=True, slots=True)
class SearchProvider:
    name: ProviderName
    address: str
    key: str | None = field(default=None, repr=False)

    async def search(self, query: str, count: int) -> tuple[Hit, ...]:
        """At most `count` hits, the best first. Raises `ToolError`; the key is in none of its texts."""
        from agent_chat.tools.web.http import httpx

        try:
            async with httpx.AsyncClient(
                timeout=httpx.Timeout(IDLE_SECONDS, connect=CONNECT_SECONDS)
            ) as client:
                request = client.build_request(**_REQUESTS[self.name](self, query, count))
                answer = await client.send(request)
        except httpx.HTTPError as error:
            raise ToolError(
                f"{self.name} cannot be reached: {type(error).__name__}", retryable=True
            ) from error
        if answer.status_code != 200:
            raise ToolError(
                f"{self.name} answered {answer.status_code}", retryable=answer.status_code in PASSING
            )
        try:
            found = _results(self.name, answer.json())
        except (ValueError, RecursionError) as error:
            raise ToolError(f"{self.name} answered something that is no list of results") from error
        return tuple(hit for hit in map(_hit, found) if hit is not None)[:count]


def choose_provider(
    wanted: Literal["auto", "none"] | ProviderName, url: str | None, environ: Mapping[str, str]
) -> SearchProvider | None:
    """The provider of the settings; with `auto`, the one that there is a key or an address of. None where
    there is none."""
    if wanted == "none":
        return None
    names: Sequence[ProviderName] = ("brave", "tavily", "searxng") if wanted == "auto" else (wanted,)
    for name in names:
        variable = KEYS.get(name)
        if variable is None:
            if url is not None:
                return SearchProvider(name, f"{url.rstrip('/')}/search")
        elif key := environ.get(variable, "").strip():
            return SearchProvider(name, (url if wanted == name else None) or _ADDRESSES[name], key)
    return None


def _brave(provider: SearchProvider, query: str, count: int) -> dict[str, Any]:
    headers = {"X-Subscription-Token": provider.key or "", "Accept": "application/json"}
    return {
        "method": "GET",
        "url": provider.address,
        "params": {"q": query, "count": count},
        "headers": headers,
    }


def _tavily(provider: SearchProvider, query: str, count: int) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {provider.key}"}
    return {
        "method": "POST",
        "url": provider.address,
        "json": {"query": query, "max_results": count},
        "headers": headers,
    }


def _searxng(provider: SearchProvider, query: str, count: int) -> dict[str, Any]:
    return {"method": "GET", "url": provider.address, "params": {"q": query, "format": "json"}}


_REQUESTS: dict[ProviderName, Callable[[SearchProvider, str, int], dict[str, Any]]] = {
    "brave": _brave,
    "tavily": _tavily,
    "searxng": _searxng,
}


def _results(name: ProviderName, answer: Any) -> list[Any]:
    """The list of results in an answer; none where it has another shape."""
    outer = _part(answer, "web") if name == "brave" else answer
    found = _part(outer, "results")
    return cast("list[Any]", found) if isinstance(found, list) else []


def _part(value: Any, key: str) -> Any:
    return cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None


def _hit(result: Any) -> Hit | None:
    url = _part(result, "url")
    if not isinstance(url, str) or not url:
        return None
    snippet = _part(result, "description") or _part(result, "content")
    return Hit(_line(_part(result, "title")), _line(url), _line(snippet))


def _line(value: Any) -> str:
    import html

    text = html.unescape(re.sub(r"<[^<>]{1,100}>", "", value)) if isinstance(value, str) else ""
    return " ".join(text.split())[:1000]
