"""Every status, error body and transport error has its kind, and a message that says what to do."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest
from support.chat_models import KEY, target

from agent_chat.core.errors import FailureKind
from agent_chat.models.failures import Failures, error_of, read_retry_after

FAILURES = Failures.of(target("http://h/v1"), "http://h/v1/chat/completions")


def error(message: str = "words", **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, error(type="invalid_request_error"), "request"),
        (401, error(code="invalid_api_key"), "auth"),
        (402, error("Insufficient Balance"), "quota"),
        (403, error(), "auth"),
        (404, error(code="model_not_found"), "not_found"),
        (405, "", "not_found"),
        (408, "", "timeout"),
        (409, "", "unavailable"),
        (413, error("Request too large for model"), "context_overflow"),
        (422, error(), "request"),
        (429, error(code="insufficient_quota", message="no credit"), "quota"),
        (429, error("You exceeded your current quota, please check your plan"), "quota"),
        (429, error(type="tokens", code="rate_limit_exceeded"), "rate_limited"),
        (429, error("slow down, maximum context length"), "rate_limited"),
        (500, error(), "unavailable"),
        (502, "<html>bad gateway</html>", "unavailable"),
        (503, "", "unavailable"),
        (504, "", "timeout"),
        (529, error(type="overloaded_error"), "unavailable"),
        (307, "", "not_found"),
        (418, "", "request"),
        (400, error(code="context_length_exceeded"), "context_overflow"),
        (400, error("This model's maximum context length is 8192 tokens."), "context_overflow"),
        (400, error("prompt is too long: 250000 tokens > 200000 maximum"), "context_overflow"),
        (400, error("too big", type="exceed_context_size_error"), "context_overflow"),
        (500, error("input length exceeds the context"), "context_overflow"),
        (400, error("request (9 tokens) exceeds the available context size"), "context_overflow"),
        (400, error("The input token count (9) exceeds the maximum number of tokens"), "context_overflow"),
        (400, error(code="content_filter"), "content_filtered"),
        (400, error("Your credit balance is too low to access the API"), "quota"),
        (400, error("API key not valid. Please pass a valid API key.", status="INVALID_ARGUMENT"), "auth"),
        (400, [{"error": {"message": "x", "status": "RESOURCE_EXHAUSTED"}}], "rate_limited"),
        (400, {"detail": "no such thing"}, "request"),
        (400, {"object": "error", "message": "no"}, "request"),
        (400, {"error": "plain text"}, "request"),
        (400, "", "request"),
        (400, "not json", "request"),
    ],
)  # fmt: skip
def test_answers(status: int, body: Any, kind: FailureKind) -> None:
    raw = body if isinstance(body, str) else json.dumps(body)
    failure = FAILURES.from_response(status, httpx.Headers(), raw.encode())
    assert failure.kind == kind
    assert failure.status == status
    assert failure.message.startswith("main (openai/m): ")


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        (error("Unsupported parameter: temperature"), "temperature"),
        (error("Unsupported parameter: 'max_tokens' is not supported with this model."), "max_tokens"),
        (
            error(
                "Unsupported value: 'temperature' does not support 0.2 with this model.",
                param="temperature",
                code="unsupported_value",
            ),
            "temperature",
        ),
        (error("Unrecognized request argument supplied: reasoning_effort"), "reasoning_effort"),
        (error("Unknown parameter: 'stream_options.include_usage'."), "stream_options"),
        (error("temperature: Extra inputs are not permitted"), "temperature"),
        (error("property 'seed' is not supported"), "seed"),
        ({"detail": [{"type": "extra_forbidden", "loc": ["body", "store"], "msg": "no"}]}, "store"),
    ],
)
def test_r20_a_refused_parameter_is_named(body: Any, parameter: str) -> None:
    failure = FAILURES.from_response(400, httpx.Headers(), json.dumps(body).encode())
    assert (failure.kind, failure.parameter) == ("unsupported_parameter", parameter)
    assert parameter in failure.message


@pytest.mark.parametrize(
    ("inside", "kind"),
    [
        ({"type": "overloaded_error", "message": "busy"}, "unavailable"),
        ({"code": 429, "message": "slow down"}, "rate_limited"),
        ({"code": "502", "message": "upstream"}, "unavailable"),
        ({"type": "invalid_request_error", "message": "no"}, "request"),
        ({"type": "authentication_error", "message": "no"}, "auth"),
        ({"code": "context_length_exceeded", "message": "long"}, "context_overflow"),
        ({"message": "something"}, "unavailable"),
        ("just words", "unavailable"),
    ],
)
def test_r16_errors_inside_a_stream(inside: Any, kind: FailureKind) -> None:
    assert FAILURES.from_error(inside).kind == kind


def test_r16_the_provider_s_words_are_in_the_message() -> None:
    assert "busy" in FAILURES.from_error({"type": "overloaded_error", "message": "busy"}).message


def test_r15_a_refused_key_is_named_by_its_variable_and_never_shown() -> None:
    body = json.dumps(error(f"Incorrect API key provided: {KEY}. Find yours at ?key={KEY}")).encode()
    failure = FAILURES.from_response(401, httpx.Headers(), body)
    assert "OPENAI_API_KEY" in failure.message
    assert "Incorrect API key provided" in failure.message
    assert "TEST456" not in failure.message


def test_r46_secrets_in_headers_and_parameters_are_masked_too() -> None:
    headers = {"Authorization": "Basic dXNlcjpwYXNz", "X-Session-Token": "tok-in-use"}
    changes = {"headers": headers, "parameters": {"aws_secret_access_key": "abc/def+ghi", "user": "someone"}}
    failures = Failures.of(target("http://h/v1", **changes))
    told = "dXNlcjpwYXNz tok-in-use abc/def+ghi someone"
    message = failures.from_response(500, httpx.Headers(), told.encode()).message
    assert "someone" in message
    for secret in ("dXNlcjpwYXNz", "tok-in-use", "abc/def"):
        assert secret not in message


def test_r54_an_unknown_address_is_shown_whole_with_the_form_expected() -> None:
    failure = FAILURES.from_response(404, httpx.Headers(), b"<html>nothing here</html>")
    assert "http://h/v1/chat/completions" in failure.message
    assert "https://HOST/v1" in failure.message
    assert "<html>" not in failure.message


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (httpx.ConnectError("refused"), "connection"),
        (httpx.ConnectTimeout("slow"), "timeout"),
        (httpx.ReadTimeout("slow"), "timeout"),
        (httpx.WriteTimeout("slow"), "timeout"),
        (httpx.PoolTimeout("full"), "timeout"),
        (httpx.ReadError("reset"), "connection"),
        (httpx.WriteError("reset"), "connection"),
        (httpx.RemoteProtocolError("cut"), "connection"),
        (httpx.LocalProtocolError("bad"), "connection"),
        (httpx.ProxyError("proxy"), "connection"),
        (httpx.DecodingError("gzip"), "protocol"),
        (httpx.UnsupportedProtocol("ftp"), "not_found"),
        (httpx.InvalidURL("bad"), "not_found"),
        (OSError("no route"), "connection"),
    ],
)
def test_transport_errors(raised: Exception, kind: FailureKind) -> None:
    assert FAILURES.from_httpx(raised).kind == kind


def test_every_error_of_httpx_has_a_kind() -> None:
    """New classes fall under the last case; none may be an unexpected one."""
    classes = [getattr(httpx, name) for name in httpx.__all__]
    errors = [found for found in classes if isinstance(found, type) and issubclass(found, httpx.RequestError)]
    assert errors
    for found in errors:
        assert FAILURES.from_httpx(found("x")).policy.reason == (
            "model_request" if found is httpx.UnsupportedProtocol else "model_unavailable"
        )


def test_a_message_is_one_bounded_line() -> None:
    failure = FAILURES.from_response(500, httpx.Headers(), ("x\n" * 5000).encode())
    assert "\n" not in failure.message
    assert len(failure.message) < 700


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_r14_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert read_retry_after(httpx.Headers(headers)) == seconds


def test_r14_retry_after_as_a_date() -> None:
    at = datetime.now(UTC) + timedelta(seconds=30)
    seconds = read_retry_after({"retry-after": format_datetime(at, usegmt=True)})
    assert seconds is not None
    assert 25 < seconds <= 30


def test_a_body_without_an_error_has_none() -> None:
    assert error_of(b"") is None
    assert error_of(b"[]") is None
    assert error_of(b"{}") is None
    assert error_of(b"\xff") is None
