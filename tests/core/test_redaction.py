"""Credentials never reach a message, and nothing else is taken for one."""

from __future__ import annotations

import base64
import time
from typing import Any

import pytest

from agent_chat.core.approval import Preview
from agent_chat.core.events import ApprovalRequested, ModelReplied, Notice
from agent_chat.core.messages import ToolCall, parse_arguments
from agent_chat.core.redacted import redacted
from agent_chat.core.redaction import MASK, RedactedStream, Redactor, from_environment, redact

PEM = (
    "-----BEGIN {0}PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSj\n-----END {0}PRIVATE KEY-----"
)
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-TEST456.",
        "https://host/path?key=AIzaTESTKEY123&alt=sse",
        "Authorization: Bearer sk-TEST456",
        '{"authorization": "Bearer abcdef123456"}',
        "api_key='abcdef123456'",
        "x-api-key: abcdef123456",
        "gsk_abcdef123456 and xai-abcdef123456",
        "sk-ant-api03-abc_def-456",
        '{\\"api_key\\": \\"abcdef123456\\"}',
        "curl --access-token abcdef123456 https://host",
    ],
)
def test_r46_what_looks_like_a_key_is_masked(text: str) -> None:
    masked = redact(text)
    assert MASK in masked
    for secret in ("TEST", "abcdef", "abc_def"):
        assert secret not in masked


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-Zk3vT9bQ2mXw7LrN8cYp4HsDfGjK1aBe",
        "sk-ant-api03-Zk3vT9bQ2mXw7LrN8cYp4HsDfGjK1aBe_x-AA",
        "sk-or-v1-0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a6978",
        "sk-0f1e2d3c4b5a69788796a5b4c3d2e1f0",
        "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
        "gsk_Zk3vT9bQ2mXw7LrN8cYp4HsDfGjK1aBe",
        "xai-Zk3vT9bQ2mXw7LrN8cYp4HsDfGjK1aBe",
        "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",
        "pplx-Zk3vT9bQ2mXw7LrN8cYp4HsDfGjK1aBe",
        "r8_Zk3vT9bQ2mXw7LrN8cYp4HsDfGjK1aBeZk3vT",
        "nvapi-Zk3vT9bQ2mXw7LrN8cYp4HsDfGjK1aBe",
        "AKIAIOSFODNN7ABCDEFG",
        "ghp_Zk3vT9bQ2mXw7LrN8cYp4HsDfGjK1aBeZk3v",
        "github_pat_11ABCDEFG0Zk3vT9bQ2mXw7LrN8cYp4HsDfGjK1aBe",
        "glpat-Zk3vT9bQ2mXw7LrN8cYp",
        "xoxb-123456789012-123456789012-Zk3vT9bQ2mXw7LrN8cYp",
        "npm_Zk3vT9bQ2mXw7LrN8cYp4HsDfGjK1aBeZk3v",
        "sk_live_Zk3vT9bQ2mXw7LrN8cYp",
        "SG.Zk3vT9bQ2mXw7LrN8cYp4H.Zk3vT9bQ2mXw7LrN8cYp4HsDfGjK1aBe",
        JWT,
        PEM.format("RSA "),
        PEM.format(""),
        PEM.format("OPENSSH "),
    ],
)
def test_r46_keys_of_every_provider_are_masked_wherever_they_stand(key: str) -> None:
    for before, behind in (("", ""), ("it is ", "."), ('{"k": "', '"}'), ("X=", "\nY=1"), ("(", ")")):
        assert redact(f"{before}{key}{behind}").rstrip(".") == f"{before}{MASK}{behind}".rstrip(".")


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("postgres://me:hunter2@db/x", f"postgres://me:{MASK}@db/x"),
        ("git clone https://user:pa55@host/a.git", f"git clone https://user:{MASK}@host/a.git"),
        ("DB_PASSWORD=Summer2024\nDB_NAME=x", f"DB_PASSWORD={MASK}\nDB_NAME=x"),
        ("password: 'Summer2024'", f"password: '{MASK}'"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPx", f"aws_secret_access_key = {MASK}"),
        ('"token": "0f1e2d3c4b5a6978"', f'"token": "{MASK}"'),
        ("https://h/cb?code=0f1e2d3c4b5a&state=1", f"https://h/cb?code={MASK}&state=1"),
    ],
)
def test_r46_named_values_and_logins_are_masked(text: str, masked: str) -> None:
    assert redact(text) == masked


def test_r46_the_rest_of_the_message_stays() -> None:
    assert redact("HTTP 400: bad key=AIzaTESTKEY123 at ?key=AIzaTESTKEY123&x=1, sorry") == (
        f"HTTP 400: bad key={MASK} at ?key={MASK}&x=1, sorry"
    )


def test_r46_the_very_keys_in_use_are_masked_whatever_they_look_like() -> None:
    assert redact("who is correct-horse?", ["correct-horse"]) == f"who is {MASK}?"
    quoted = 'pass"word\\1'
    assert Redactor([quoted])('{"a": "pass\\"word\\\\1"}') == f'{{"a": "{MASK}"}}'
    assert Redactor(["p@ss/word"])("https://h/?x=p%40ss%2Fword") == f"https://h/?x={MASK}"


IMAGE = base64.b64encode(bytes(range(256)) * 4).decode()


@pytest.mark.parametrize(
    "text",
    [
        "the task-force met",
        "no api key given",
        "bearer of news",
        "Authorization: Bearer tokens are sent as headers",
        "max_tokens: 100000",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "id: 123e4567-e89b-12d3-a456-426614174000",
        "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        '"integrity": "sha512-WZ4fG7YqK1Q9YF8rJ3k2l1m0n9o8p7q6r5s4t3u2v1w0=="',
        f"data:image/png;base64,{IMAGE}",
        f"etag = {IMAGE[:64]}",
        "token = tokenizer.encode(text2)",
        "secret = hashlib.sha256(data)",
        "api_key = os.environ['OPENAI_API_KEY']",
        "api_key=settings.openai_v2",
        "password: str | None = None",
        "export API_KEY=$OTHER_KEY1",
        "password: <your-password-1>",
        "class sk-folding-cube-animation-2 of sk-learn-1.2",
        "http://localhost:8080/@scope/package",
        "see [/INST] [bold]x[/bold]",
        "user@host: ~/src",
        "token_count: 12345678",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert Redactor(["", "abc"])(text) is text


def test_the_environment_tells_what_is_secret() -> None:
    redactor = from_environment(
        {
            "MY_TOKEN": "zebra9zebra",
            "DB_PASSWORD": "postgres",
            "GOOGLE_APPLICATION_CREDENTIALS": "/home/me/key.json",
            "PWD": "/w/zebra",
            "EDITOR": "an-editor-1",
        },
        ["key-of-the-model"],
    )
    assert redactor("zebra9zebra key-of-the-model an-editor-1") == f"{MASK} {MASK} an-editor-1"
    assert redactor("DB_PASSWORD=postgres on postgres") == f"DB_PASSWORD={MASK} on postgres"
    assert redactor("/home/me/key.json") == "/home/me/key.json"


def test_values_are_masked_in_their_place() -> None:
    clean: dict[str, Any] = {"path": "a.txt", "lines": [1, 2], "deep": {"x": None}}
    redactor = Redactor(["horse-9"])
    assert redactor.value(clean) is clean
    assert redactor.value({"a": ["horse-9", 1], "password": "Summer2024"}) == {
        "a": [MASK, 1],
        "password": MASK,
    }


def test_arguments_of_calls_stay_json() -> None:
    event = ModelReplied(
        model="m",
        text="sk-TEST456",
        calls=(
            ToolCall("c1", "shell", '{"command": "curl -H \\"Authorization: Bearer abc12345\\" \\"x\\""}'),
        ),
        finish_reason="tool_calls",
        usage=None,
        cost_usd=None,
        extras={"thinking_blocks": [{"signature": "sk-TEST456"}]},
        duration_s=0,
    )
    masked = redacted(event, Redactor())
    assert isinstance(masked, ModelReplied)
    assert masked.text == MASK
    assert parse_arguments(masked.calls[0].arguments) == {
        "command": f'curl -H "Authorization: Bearer {MASK}" "x"'
    }
    assert masked.extras == event.extras


def test_what_a_person_is_asked_is_masked() -> None:
    event = ApprovalRequested(
        call_id="c1",
        name="shell",
        arguments={"command": "echo sk-TEST456"},
        effect="execute",
        preview=Preview("command", "echo sk-TEST456", "in the workspace"),
        why="",
    )
    masked = redacted(event, Redactor())
    assert "sk-TEST456" not in masked.model_dump_json()
    assert redacted(clean := Notice(message="ok"), Redactor()) is clean


@pytest.mark.parametrize("cut", range(1, 30))
def test_pieces_make_no_difference(cut: int) -> None:
    text = "X_TOKEN=zebra9zebra\nnext\n"
    stream = RedactedStream(Redactor(["zebra9zebra"]))
    shown = "".join((stream.feed(text[:cut]), stream.feed(text[cut:])))
    assert shown == f"X_TOKEN={MASK}\nnext\n"


def test_a_private_key_in_pieces_is_held_back_as_a_whole() -> None:
    stream = RedactedStream(Redactor())
    lines = ("before\n" + PEM.format("EC ") + "\nafter\n").splitlines(keepends=True)
    assert "".join(map(stream.feed, lines)) == f"before\n{MASK}\nafter\n"


@pytest.mark.parametrize(
    "text",
    [
        "sk-" * 300_000,
        "eyJ-eyJ" * 140_000,
        "token" * 200_000,
        "--token " * 120_000,
        "password=" * 110_000,
        "a://" * 250_000 + "@",
        "-----BEGIN PRIVATE KEY-----" * 37_000,
        '-----BEGIN PRIVATE KEY-----"' * 36_000,
        "a" * 1_000_000 + "=:@--",
        "x?key=" * 160_000,
    ],
    ids=lambda text: text[:12],
)
def test_no_text_makes_it_slow(text: str) -> None:
    started = time.process_time()
    redact(text)
    assert time.process_time() - started < 10
