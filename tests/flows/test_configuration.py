"""Mistakes that are found before anything is sent: configuration, keys, addresses, options."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fixtures import Command, ProviderFactory
from support.flows import said
from support.process import HasBaseUrl, Result
from support.provider import OK, REPEAT


def config(home: Path, text: str) -> Path:
    path = home / ".config" / "agent-chat" / "config.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def refused(result: Result) -> str:
    """What a run said that ended as wrong usage."""
    assert (result.stdout, result.code) == (b"", 2)
    assert "Traceback" not in result.err
    assert "internal error" not in result.err
    return result.err


MISTAKES = [
    pytest.param("modle: x\n", 1, ["'modle'", "'model'"], id="key"),
    pytest.param("agent:\n  retries: many\n", 2, ["retries"], id="value-elsewhere"),
    pytest.param("agent:\n  request:\n    retries: many\n", 3, ["retries", "'many'"], id="value"),
    pytest.param("agent:\n\tmodel: x\n", 2, ["tab"], id="tab"),
    pytest.param("agent:\n  model: a\n  model: b\n", 3, ["duplicate", "'model'"], id="duplicate"),
    pytest.param("- agent\n- model\n", 1, ["a list"], id="list"),
]


@pytest.mark.parametrize(("text", "line", "words"), MISTAKES)
def test_r52_a_mistake_ends_the_program_with_its_place(
    single: Command, provider: ProviderFactory, home: Path, text: str, line: int, words: list[str]
) -> None:
    path = config(home, text)
    message = refused(single("hi", provider=provider()))
    assert f"{path}:{line}:" in message
    assert all(word in message for word in words)


def test_r52_the_same_in_a_chat_and_help_works_all_the_same(
    chat: Command, single: Command, provider: ProviderFactory, home: Path
) -> None:
    config(home, "modle: x\n")
    assert "'model'" in refused(chat(provider=provider(), stdin=b"hi\n"))
    for command in (chat, single):
        result = command("--help")
        assert result.code == 0
        assert "--model" in result.out


def test_r52_an_empty_file_means_defaults(single: Command, provider: ProviderFactory, home: Path) -> None:
    config(home, "")
    result = single("hi", provider=provider(OK))
    assert (result.stdout, result.stderr, result.code) == (b"ok\n", b"", 0)


def test_an_unreadable_configuration_is_a_mistake(
    single: Command, provider: ProviderFactory, home: Path
) -> None:
    path = config(home, "")
    path.unlink()
    path.mkdir()
    assert str(path) in refused(single("hi", provider=provider()))
    missing = home / "no.yaml"
    assert str(missing) in refused(single("--config", str(missing), "hi", provider=provider()))


@pytest.mark.parametrize("key", ["sk-TEST456\n", " sk-TEST456 "])
def test_r53_blanks_around_a_key_are_removed(single: Command, provider: ProviderFactory, key: str) -> None:
    server = provider(OK)
    assert single("hi", provider=server, OPENAI_API_KEY=key).code == 0
    assert server.requests[0].headers["authorization"] == "Bearer sk-TEST456"


@pytest.mark.parametrize("transport", ["direct", "litellm"])
@pytest.mark.parametrize(
    ("key", "position"), [("sk-TÉST", "5"), ("sk-TEST\u200b456", "8"), ("sk-TEST\n456", "8")]
)
def test_r53_a_key_that_cannot_travel_is_caught(
    single: Command, provider: ProviderFactory, key: str, position: str, transport: str
) -> None:
    server = provider()
    message = refused(single("-C", f"transport={transport}", "hi", provider=server, OPENAI_API_KEY=key))
    assert server.connections == 0
    assert "OPENAI_API_KEY" in message
    assert f"position {position}" in message or f"character {position}" in message
    assert key not in message
    assert "456" not in message
    assert "connect" not in message


def test_r53_a_header_that_cannot_travel_is_caught(single: Command, provider: ProviderFactory) -> None:
    server = provider()
    message = refused(single("-C", 'request.headers={"X-Title": "日本"}', "hi", provider=server))
    assert server.connections == 0
    assert "X-Title" in message


class At:
    """A server under another form of its address."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url


@pytest.mark.parametrize("form", ["{}/v1", "{}/v1/", "{}/v1/chat/completions"])
def test_r54_forms_of_a_base_address_that_work(single: Command, provider: ProviderFactory, form: str) -> None:
    server = provider(OK)
    at: HasBaseUrl = At(form.format(server.address))
    assert single("hi", provider=at).stdout == b"ok\n"
    assert not server.other_requests


@pytest.mark.parametrize("form", ["{}", "{}/"])
def test_r54_forms_that_do_not_are_told(single: Command, provider: ProviderFactory, form: str) -> None:
    server = provider(OK, allow_unused=True, allow_failures=True)
    result = single("hi", provider=At(form.format(server.address)))
    assert (result.stdout, result.code) == (b"", 1)
    assert [request.path for request in server.other_requests] == ["/chat/completions"]
    assert f"{server.address}/chat/completions" in result.err
    assert "/v1" in result.err


def test_r54_the_option_is_the_same_as_the_variable(single: Command, provider: ProviderFactory) -> None:
    server = provider(REPEAT(OK))
    for form in ("/v1", "/v1/"):
        assert (
            single("--api-base", server.address + form, "hi", provider=At("http://nowhere.invalid")).code == 0
        )


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--modle", "x", "hi"), ["--modle", "--model"]),
        (("--max-iterations", "many", "hi"), ["--max-iterations", "integer"]),
        (("--max-iterations", "0", "hi"), ["--max-iterations", "1"]),
        (("--output", "jsn", "hi"), ["--output", "json"]),
        (("-C", "modle=x", "hi"), ["modle", "model"]),
        (("-t", "clac", "hi"), ["clac", "calc"]),
        (("-m", "opneai/gpt", "hi"), ["opneai/gpt", "openai"]),
        (("-m", "nosuchmodel", "hi"), ["nosuchmodel"]),
        (("-r", "20200101-000000-dead", "hi"), ["20200101-000000-dead"]),
        (("-c", "hi"), ["session"]),
        (("--workspace", "/no/such/folder", "hi"), ["/no/such/folder"]),
        (("-o", "/no/such/folder/out", "hi"), ["/no/such/folder/out"]),
        (("--profile", "carefull", "hi"), ["carefull"]),
        ((), ["prompt"]),
        (("-",), ["prompt"]),
    ],
)
def test_wrong_usage_is_told_before_anything_is_sent(
    single: Command, provider: ProviderFactory, args: tuple[str, ...], words: list[str]
) -> None:
    server = provider()
    message = refused(single(*args, provider=server))
    assert server.connections == 0
    assert all(word in message for word in words)
    assert len(message.splitlines()) >= 2, "what to do next"


def test_a_missing_key_is_told_by_its_variable(single: Command) -> None:
    for model, variable in (
        ("openai/gpt-5-mini", "OPENAI_API_KEY"),
        ("anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("gemini/gemini-2.5-flash", "GEMINI_API_KEY"),
    ):
        assert variable in refused(single("-m", model, "hi"))


def test_options_stand_anywhere_and_words_are_one_prompt(single: Command, provider: ProviderFactory) -> None:
    server = provider(OK)
    assert single("what", "-q", "is", "this", provider=server).code == 0
    assert said(server.bodies[0]) == [("user", "what is this")]
