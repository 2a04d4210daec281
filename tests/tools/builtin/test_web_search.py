"""Searching the web by each of the providers."""

from __future__ import annotations

import json

import pytest
from support.http_server import Http, Request, Response
from support.tools import call
from support.web import Serve, inside, page

from agent_chat.tools.builtin.web import search_tool
from agent_chat.tools.web.searching import SearchProvider, choose_provider

RESULTS = [
    {
        "title": "One &amp; <strong>two</strong>",
        "url": "https://a.test/1",
        "description": "What [red] it\nsays",
    },
    {"title": "No address"},
    "not even an object",
    {"title": "Second", "url": "https://a.test/2", "content": "More"},
]


@pytest.mark.parametrize("name", ["brave", "tavily", "searxng"])
async def test_a_search(serve: Serve, name: str) -> None:
    seen: list[Request] = []

    def handler(request: Request) -> Response:
        seen.append(request)
        answer = {"web": {"results": RESULTS}} if name == "brave" else {"results": RESULTS}
        return page(json.dumps(answer), "application/json")

    server = serve(handler)
    address = f"http://127.0.0.1:{server.port}"
    provider = choose_provider(
        name,  # type: ignore[arg-type]
        address,
        {"BRAVE_API_KEY": "k-brave", "TAVILY_API_KEY": "k-tavily"},
    )
    assert provider is not None
    text = inside(await call(search_tool(provider), query="a b", count=3))
    assert text == (
        "1. One & two\n   https://a.test/1\n   What [red] it says\n2. Second\n   https://a.test/2\n   More"
    )
    [request] = seen
    match name:
        case "brave":
            assert (request.query, request.headers["x-subscription-token"]) == ("q=a+b&count=3", "k-brave")
        case "tavily":
            assert request.body == {"query": "a b", "max_results": 3}
            assert request.headers["authorization"] == "Bearer k-tavily"
        case _:
            assert (request.path, request.query) == ("/search", "q=a+b&format=json")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Response([Http(401, {}, b"bad key k-1")]), "brave answered 401"),
        (page("<html>", "text/html"), "no list of results"),
        (page('{"web": []}', "application/json"), "nothing was found"),
        (page("[]", "application/json"), "nothing was found"),
    ],
)
async def test_a_search_that_fails(serve: Serve, answer: Response, told: str) -> None:
    server = serve(lambda request: answer)
    provider = SearchProvider("brave", f"http://127.0.0.1:{server.port}", "k-1")
    result = await call(search_tool(provider), query="x")
    assert told in result.content
    assert "k-1" not in result.content


def test_who_searches() -> None:
    keys = {"BRAVE_API_KEY": "b", "TAVILY_API_KEY": "t"}
    assert choose_provider("auto", None, {}) is None
    assert choose_provider("none", "http://x", keys) is None
    assert choose_provider("brave", None, {"TAVILY_API_KEY": "t"}) is None
    found = [
        choose_provider("auto", None, keys),
        choose_provider("auto", "http://x/", {"TAVILY_API_KEY": "t"}),
        choose_provider("auto", "http://x/", {}),
        choose_provider("tavily", "http://x/y", keys),
    ]
    assert [(one.name, one.address) for one in found if one] == [
        ("brave", "https://api.search.brave.com/res/v1/web/search"),
        ("tavily", "https://api.tavily.com/search"),
        ("searxng", "http://x/search"),
        ("tavily", "http://x/y"),
    ]
    assert "secret" not in repr(SearchProvider("brave", "http://x", "secret"))
