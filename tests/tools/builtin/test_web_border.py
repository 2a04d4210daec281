"""Where a page may be fetched from: the public internet, and no further than the rules allow."""

from __future__ import annotations

import pytest
from support.http_server import Request, Response
from support.tools import call
from support.web import Serve, fetch, inside, page, redirect

from agent_chat.core.approval import Allowed, Preview, Refused
from agent_chat.tools.builtin.web import fetch_tool
from agent_chat.tools.errors import ToolError
from agent_chat.tools.web.addresses import is_public
from agent_chat.tools.web.fetching import Fetcher, Page

PRIVATE = (
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "0",
    "0.0.0.0",
    "localhost",
    "localhost.",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[fe80::1]",
    "[fc00::1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
)


@pytest.mark.parametrize("host", PRIVATE)
async def test_what_is_not_public_is_not_reached(serve: Serve, host: str) -> None:
    server = serve(lambda request: page("secret", "text/plain"))
    result = await call(fetch_tool(), url=f"http://{host}:{server.port}/")
    assert not result.ok
    # Some forms are no address for everyone, and some machines cannot look them up.
    refusals = ("is not a public address", "is no address", "cannot be found")
    assert any(refusal in result.content for refusal in refusals)
    assert server.connections == 0


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("::ffff:93.184.216.34", True),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::5db8:d822", True),
        ("64:ff9b::a00:1", False),
        ("2002:a00:1::", False),
        ("2001:0:a00:1::", False),
        ("fe80::1%eth0", False),
        ("not an address", False),
    ],
)
def test_addresses_that_stand_for_others(address: str, public: bool) -> None:
    assert is_public(address) is public


async def test_every_hop_is_checked(serve: Serve) -> None:
    """The first host is taken for a public one; where it sends us is not."""
    hidden = serve(lambda request: page("secret", "text/plain"))
    server = serve(lambda request: redirect(f"http://127.0.0.1:{hidden.port}/"))

    async def resolve(host: str, port: int) -> tuple[str, ...]:
        return {"127.0.0.1": ("127.0.0.1",)}.get(host, ("93.184.216.34",))

    fetcher = Fetcher(lambda url: Allowed(), False, {"http": f"http://127.0.0.1:{server.port}"}, resolve)
    with pytest.raises(ToolError, match=r"127\.0\.0\.1 is not a public address"):
        await fetcher.fetch("http://page.test/")
    assert hidden.connections == 0


async def test_the_address_that_was_checked_is_the_one_that_is_connected_to(serve: Serve) -> None:
    """A name whose answer changes from one question to the next is asked for once."""
    seen: list[Request] = []

    def handler(request: Request) -> Response:
        seen.append(request)
        return page("here", "text/plain")

    server = serve(handler)
    answers = [("127.0.0.1",)]

    async def resolve(host: str, port: int) -> tuple[str, ...]:
        return answers.pop()

    found = await Fetcher(lambda url: Allowed(), True, {}, resolve).fetch(f"http://page.test:{server.port}/a")
    assert isinstance(found, Page)
    assert (found.body, found.url) == (b"here", f"http://page.test:{server.port}/a")
    assert seen[0].headers["host"] == f"page.test:{server.port}"


async def test_one_private_address_among_public_ones_is_enough() -> None:
    async def resolve(host: str, port: int) -> tuple[str, ...]:
        return ("93.184.216.34", "10.0.0.1")

    with pytest.raises(ToolError, match=r"page.test \(10.0.0.1\) is not a public address"):
        await Fetcher(lambda url: Allowed(), False, {}, resolve).fetch("http://page.test/")


async def test_a_host_with_several_addresses_is_reached_by_the_one_that_answers(serve: Serve) -> None:
    server = serve(lambda request: page("here", "text/plain"))

    async def resolve(host: str, port: int) -> tuple[str, ...]:
        return ("127.0.0.2", "127.0.0.1")  # the server listens on the second one alone

    found = await Fetcher(lambda url: Allowed(), True, {}, resolve).fetch(f"http://page.test:{server.port}/")
    assert isinstance(found, Page)


async def test_a_proxy_of_the_environment_is_used(serve: Serve) -> None:
    seen: list[str] = []

    def handler(request: Request) -> Response:
        seen.append(request.headers["host"])
        return page("by proxy", "text/plain")

    proxy = serve(handler)
    environ = {"HTTP_PROXY": f"127.0.0.1:{proxy.port}", "NO_PROXY": "localhost,.direct.test"}
    tool = fetch_tool(environ=environ)
    assert inside(await call(tool, url="http://page.invalid/")) == "by proxy"
    assert seen == ["page.invalid"]
    assert "cannot be found" in (await call(tool, url="http://a.direct.test/")).content


# --- redirects ------------------------------------------------------------------------------------------


async def test_a_redirect_within_the_site_is_followed(serve: Serve) -> None:
    server = serve(lambda request: page("there", "text/plain") if request.path == "/b" else redirect("/b#c"))
    result = await fetch(server, "/a")
    assert inside(result) == "there"
    assert f"http://127.0.0.1:{server.port}/b:" in result.content.splitlines()[0]


async def test_redirects_have_an_end(serve: Serve) -> None:
    server = serve(lambda request: redirect(request.path + "a"))
    result = await fetch(server)
    assert "redirects more than 5 times" in result.content


async def test_another_site_is_named_and_not_reached(serve: Serve) -> None:
    other = serve(lambda request: page("there", "text/plain"))
    server = serve(lambda request: redirect(f"http://127.0.0.1:{other.port}/x"))
    result = await fetch(server)
    assert result.ok
    assert f"redirects to another site: http://127.0.0.1:{other.port}/x\n" in result.content
    assert other.connections == 0


async def test_another_site_that_a_rule_allows_is_reached(serve: Serve) -> None:
    other = serve(lambda request: page("there", "text/plain"))
    server = serve(lambda request: redirect(f"http://127.0.0.1:{other.port}/x"))
    assert inside(await fetch(server, judge=lambda url: Allowed())) == "there"


async def test_a_redirect_to_what_a_rule_denies(serve: Serve) -> None:
    server = serve(lambda request: redirect("/private"))
    result = await fetch(server, "/public", judge=lambda url: Refused(f"Denied: {url}"))
    assert not result.ok
    assert "which is not allowed. Denied: http://127.0.0.1" in result.content


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://x/", "http://u:p@x/", "http://["])
async def test_a_redirect_to_what_is_never_fetched(serve: Serve, target: str) -> None:
    result = await fetch(serve(lambda request: redirect(target)), judge=lambda url: Allowed())
    assert not result.ok


async def test_the_question_shows_the_address() -> None:
    assert await fetch_tool().preview({"url": "https://example.com/x"}) == Preview(
        "url", "https://example.com/x"
    )
