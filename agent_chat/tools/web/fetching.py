"""Fetches a page: every hop is checked before it is made, and what comes is bounded in size and time.

The address that was checked is the one that is connected to: a name that leads elsewhere a moment later
leads nowhere. Behind a proxy it is the proxy that connects.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent_chat import __version__
from agent_chat.core.approval import Allowed, NeedsPerson, Refused, Verdict
from agent_chat.tools.errors import ToolError
from agent_chat.tools.web.addresses import is_public, resolve

if TYPE_CHECKING:
    from httpx import URL, AsyncClient, Response

MAX_BYTES = 5 * 1024 * 1024
MAX_HOPS = 6
MAX_URL = 4_000
"""Characters."""
CONNECT_SECONDS = 10.0
IDLE_SECONDS = 20.0
TRIED = 4
"""Addresses of a host that are tried."""
PASSING = frozenset((408, 425, 429, 500, 502, 503, 504, 529))
HEADERS = {
    "User-Agent": f"agent-chat/{__version__}",
    "Accept": "text/html, text/markdown, text/plain, application/json;q=0.9, */*;q=0.5",
    "Accept-Encoding": "gzip, deflate",
}
_REDIRECTS = frozenset((301, 302, 303, 307, 308))

Judge = Callable[[str], Verdict]
"""What the rules say of fetching an address."""
Resolve = Callable[[str, int], Awaitable[tuple[str, ...]]]
"""The addresses of a host; raises `ToolError`."""


@dataclass(frozen=True, slots=True)
class Page:
    url: str
    """Where it was found in the end."""
    content_type: str
    """Without parameters, in small letters; empty where none was told."""
    charset: str | None
    body: bytes
    cut: bool
    """Whether there is more than `MAX_BYTES`."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The page is at another address, which is for the rules or a person to allow."""

    url: str


@dataclass(frozen=True, slots=True)
class Fetcher:
    judge: Judge
    allow_private: bool
    proxies: Mapping[str, str]
    """Address of the proxy by scheme; under `no` the hosts that need none."""
    resolve: Resolve = resolve

    async def fetch(self, address: str) -> Page | Elsewhere:
        """Raises `ToolError`."""
        from agent_chat.tools.web.http import httpx

        url = _parsed(address)
        for _ in range(MAX_HOPS):
            try:
                async with self._answered(url) as response:
                    target = _target(url, response)
                    if target is None:
                        return await _page(url, response)
            except httpx.TimeoutException as error:
                raise ToolError(f"{url.host} does not answer in time", retryable=True) from error
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                passes = isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError)
                raise ToolError(f"{url} cannot be fetched: {_told(error)}", retryable=passes) from error
            if not self._may_follow(url, target):
                return Elsewhere(str(target))
            url = target
        raise ToolError(f"{address} redirects more than {MAX_HOPS - 1} times")

    def _may_follow(self, url: URL, target: URL) -> bool:
        verdict = self.judge(str(target))
        match verdict:
            case Allowed():
                return True
            case Refused():
                raise ToolError(f"{url} redirects to {target}, which is not allowed. {verdict.message}")
            case NeedsPerson():
                return not verdict.rule and _same_site(url, target)

    @asynccontextmanager
    async def _answered(self, url: URL) -> AsyncGenerator[Response]:
        from agent_chat.tools.web.http import httpx

        proxy = self._proxy(url)
        addresses = await self._addresses(url, is_proxied=proxy is not None)
        timeout = httpx.Timeout(IDLE_SECONDS, connect=CONNECT_SECONDS)
        async with httpx.AsyncClient(
            verify=httpx.create_ssl_context() if url.scheme == "https" else False,
            proxy=proxy,
            timeout=timeout,
            trust_env=False,
        ) as client:
            response = await _send(client, url, addresses)
            try:
                yield response
            finally:
                await response.aclose()

    async def _addresses(self, url: URL, *, is_proxied: bool) -> tuple[str, ...]:
        """The addresses to connect to; none where a proxy connects. Raises `ToolError`."""
        host = url.raw_host.decode("ascii")
        port = url.port or (443 if url.scheme == "https" else 80)
        try:
            found = await self.resolve(host, port)
        except ToolError:
            if not is_proxied:
                raise
            return ()  # only the proxy knows that name
        if not self.allow_private and (private := [one for one in found if not is_public(one)]):
            where = "" if private == [host] else f" ({private[0]})"
            raise ToolError(
                f"{host}{where} is not a public address; the user can allow such with tools.web.allow_private"
            )
        return () if is_proxied else found[:TRIED]

    def _proxy(self, url: URL) -> str | None:
        proxy = self.proxies.get(url.scheme) or self.proxies.get("all")
        direct = (one.strip().lstrip(".").lower() for one in self.proxies.get("no", "").split(","))
        if not proxy or any(_is_of(url, host) for host in direct if host):
            return None
        return proxy if "://" in proxy else f"http://{proxy}"


def _is_of(url: URL, domain: str) -> bool:
    """`domain` as in NO_PROXY: a host with all below it, perhaps with a port, or `*`."""
    host = url.host.lower()
    hosts = (host, f"{host}:{url.port or (443 if url.scheme == 'https' else 80)}")
    return domain == "*" or any(one == domain or one.endswith(f".{domain}") for one in hosts)


def _parsed(address: str) -> URL:
    """An address that can be fetched, read in the same way by everyone. Raises `ToolError`."""
    from agent_chat.tools.web.http import httpx

    address = address.strip()
    if len(address) > MAX_URL:
        raise ToolError(f"the address has more than {MAX_URL:,} characters")
    if any(character <= " " or character in "\\\x7f" for character in address):
        raise ToolError(
            "the address holds characters that no address can have; write them as %20 and the like"
        )
    try:
        url, parts = httpx.URL(address), urlsplit(address)
        _ = parts.port
    except (httpx.InvalidURL, ValueError) as error:
        raise ToolError(f"{address!r} is no address: {error}") from error
    _check(url)
    if (parts.hostname or "") not in (url.host.lower(), url.raw_host.decode("ascii").lower()):
        raise ToolError(f"{address!r} can be read in several ways; write its host plainly")
    return url.copy_with(fragment=None)


def _check(url: URL) -> None:
    if url.scheme not in ("http", "https"):
        raise ToolError(
            f"only http and https addresses are fetched, not {url.scheme or 'one without a scheme'}"
        )
    if not url.host:
        raise ToolError(f"{str(url)!r} names no host")
    if url.userinfo:
        raise ToolError("an address with a user name or a password in it is not fetched")


def _target(url: URL, response: Response) -> URL | None:
    """Where an answer sends us; None where it is the page."""
    location = response.headers.get("location")
    if response.status_code not in _REDIRECTS or not location:
        return None
    try:
        target = url.join(location)
    except Exception as error:
        raise ToolError(f"{url} redirects to {location!r}, which is no address") from error
    return _parsed(str(target))


def _same_site(url: URL, target: URL) -> bool:
    """The same host, `www.` or not, and no step back from https."""
    same_host = url.host.removeprefix("www.") == target.host.removeprefix("www.")
    same_port = url.port == target.port
    return same_host and same_port and (target.scheme == "https" or url.scheme == "http")


async def _send(client: AsyncClient, url: URL, addresses: tuple[str, ...]) -> Response:
    """Asks the first address that takes a connection; a proxy where there are none."""
    from agent_chat.tools.web.http import httpx

    if not addresses:
        return await client.send(client.build_request("GET", url, headers=HEADERS), stream=True)
    for number, address in enumerate(addresses, start=1):
        request = client.build_request(
            "GET",
            url.copy_with(host=address.partition("%")[0]),
            headers={**HEADERS, "Host": url.netloc.decode("ascii")},
            extensions={"sni_hostname": url.raw_host.decode("ascii")},
        )
        try:
            return await client.send(request, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            if number == len(addresses):
                raise
    raise AssertionError("the last address answers or raises")


async def _page(url: URL, response: Response) -> Page:
    if response.status_code >= 400:
        passes = response.status_code in PASSING
        status = f"{response.status_code} {response.reason_phrase}".strip()
        raise ToolError(f"{url} answered {status}", retryable=passes)
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MAX_BYTES:
            break
    content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return Page(
        str(url), content_type, response.charset_encoding, bytes(body[:MAX_BYTES]), len(body) > MAX_BYTES
    )


def _told(error: Exception) -> str:
    return str(error) or type(error).__name__
