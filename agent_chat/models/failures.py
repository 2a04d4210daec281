"""From what went wrong to a `ModelFailure` with a message for people, free of credentials."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from agent_chat.core.errors import FailureKind, ModelFailure
from agent_chat.core.redaction import redact
from agent_chat.core.text import storable
from agent_chat.models.failure_kinds import (
    classify,
    error_message,
    exception_kind,
    kind_of_status,
    refine,
    refused_parameter,
)
from agent_chat.models.loose import mapping, sequence

if TYPE_CHECKING:
    from agent_chat.models.attempt import Target

_SECRET = re.compile(r"(?i)authorization|key|token|secret|password|cookie|credential")
"""Names of headers and parameters whose values nobody may see."""
MAX_CAUSE = 500
"""Characters of a provider's own words in a message."""


@dataclass(frozen=True, slots=True)
class Failures:
    """Makes the failures of one model."""

    model: str
    """As the user calls it."""
    label: str
    """The same with its provider's name for it."""
    address: str = ""
    """Where requests go."""
    key_source: str = ""
    """The variable or setting that the key came from."""
    secrets: Sequence[str] = ()
    idle_limit: float = 0.0

    @classmethod
    def of(cls, target: Target, address: str = "") -> Failures:
        label = target.name if target.name == target.model else f"{target.name} ({target.model})"
        given = {**target.parameters, **target.headers}
        named = (value for name, value in given.items() if _SECRET.search(name))
        secrets = [value for value in named if isinstance(value, str)]
        # With and without the scheme of an authorization header.
        secrets += [secret.partition(" ")[2] for secret in secrets if " " in secret]
        secrets += [target.key] if target.key else []
        return cls(target.name, label, address, target.key_source, secrets, target.idle_limit)

    def make(
        self,
        kind: FailureKind,
        cause: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        parameter: str | None = None,
    ) -> ModelFailure:
        """`cause` is the provider's own words or ours; it is masked and bounded here."""
        cause = _one_line(redact(storable(cause), self.secrets))
        return ModelFailure(
            kind,
            f"{self.label}: {self._explain(kind, cause, parameter)}",
            model=self.model,
            status=status,
            retry_after=retry_after,
            parameter=parameter,
        )

    def from_response(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelFailure:
        """An answer that is not 200."""
        error = error_of(body)
        retry_after = read_retry_after(headers)
        if error is None:
            text = body.decode("utf-8", "replace").strip()
            # A web page tells people nothing.
            error = {"message": "" if text[:1] == "<" else text}
        if 300 <= status < 400:
            error = {"message": f"redirected to {headers.get('location', 'nowhere')}"}
        return self.from_error(error, status=status, retry_after=retry_after)

    def from_error(
        self, error: Any, *, status: int | None = None, retry_after: float | None = None
    ) -> ModelFailure:
        """An error object, of a plain answer or inside a stream (then without `status`)."""
        fields = mapping(error) or {"message": error}
        message = error_message(fields)
        kind = classify(fields, message, status)
        parameter = refused_parameter(fields, message) if kind == "unsupported_parameter" else None
        if kind == "unsupported_parameter" and parameter is None:
            kind = "request"
        cause = message or "no further message"
        if status is not None:
            cause = f"HTTP {status}: {cause}"
        return self.make(kind, cause, status=status, retry_after=retry_after, parameter=parameter)

    def from_httpx(self, error: Exception) -> ModelFailure:
        from agent_chat.models.http import httpx

        match error:
            case httpx.ConnectTimeout() | httpx.PoolTimeout():
                return self.make("timeout", f"no connection to {self.address} in time")
            case httpx.TimeoutException():
                return self.silent()
            case httpx.UnsupportedProtocol() | httpx.InvalidURL():
                return self.make("not_found", f"{self.address} is not a usable address: {error}")
            case httpx.ConnectError():
                return self.make("connection", f"cannot connect to {self.address}: {_told(error)}")
            case httpx.DecodingError():
                return self.make("protocol", f"the answer cannot be decoded: {_told(error)}")
            case _:
                return self.make("connection", f"the connection to {self.address} broke: {_told(error)}")

    def silent(self) -> ModelFailure:
        """The stream, or the answer, did not come."""
        return self.make("timeout", f"no data for {self.idle_limit:g} s")

    def broken(self) -> ModelFailure:
        """The stream ended before the reply did."""
        return self.make("connection", "the stream ended before the reply was complete")

    def garbled(self, cause: str) -> ModelFailure:
        return self.make("protocol", cause)

    def from_exception(self, error: BaseException) -> ModelFailure:
        """Anything that LiteLLM raised."""
        body = _body_of(error)
        original = getattr(error, "original_exception", None)
        if type(error).__name__ == "MidStreamFallbackError" and isinstance(original, Exception):
            error = original
        status = getattr(error, "status_code", None)
        status = status if isinstance(status, int) else None
        message = _litellm_message(error)
        fields = {**body, "message": message}
        kind = exception_kind(error)
        if kind == "unavailable" and status is not None and status < 500:
            kind = kind_of_status(status)
        if kind == "connection" and body:
            # What LiteLLM takes for a broken connection was an error that the provider reported.
            kind = classify(fields, message, None)
        if kind in ("request", "rate_limited", "not_found", "unavailable", "connection"):
            kind = refine(kind, fields, message, status)
        if kind == "timeout" and self.idle_limit and "no data" not in message:
            return self.silent()
        parameter = refused_parameter(fields, message) if kind == "unsupported_parameter" else None
        if kind == "unsupported_parameter" and parameter is None:
            kind = "request"
        response = getattr(error, "response", None)
        headers = getattr(response, "headers", None) or getattr(error, "litellm_response_headers", None)
        retry_after = read_retry_after(mapping(headers))
        return self.make(kind, message, status=status, retry_after=retry_after, parameter=parameter)

    def _explain(self, kind: FailureKind, cause: str, parameter: str | None) -> str:
        match kind:
            case "auth":
                source = f" The key came from {self.key_source}." if self.key_source else " No key was sent."
                return f"the provider refused the credentials ({cause}).{source}"
            case "quota":
                return f"the account's quota or credit is used up ({cause})."
            case "not_found":
                return (
                    f"not found ({cause}). Tried {self.address}; a base address looks like "
                    "https://HOST/v1, and the model's name must be one that it serves."
                    if self.address
                    else f"not found ({cause}). Check the model's name."
                )
            case "request":
                return f"the provider refused the request ({cause})."
            case "unsupported_parameter":
                return f"the model does not take the parameter {parameter} ({cause})."
            case "context_overflow":
                return f"the conversation does not fit the model's context window ({cause})."
            case "content_filtered":
                return f"the provider's content filter stopped it ({cause})."
            case "rate_limited":
                return f"rate limited ({cause})."
            case "unavailable":
                return f"the provider failed ({cause})."
            case "timeout" | "connection":
                return f"{cause}."
            case "protocol":
                return f"the provider's answer makes no sense ({cause})."


def error_of(body: bytes) -> Any:
    """The error object of a body; None where it has none."""
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    # Google wraps its errors in a list.
    fields = mapping(next(iter(sequence(value)), value))
    for name in ("error", "detail"):
        if fields.get(name):
            return fields[name]
    return fields if error_message(fields) else None


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the provider asks to wait: from milliseconds, seconds or an HTTP date."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    if value is None:
        return None
    seconds = _number(value)
    if seconds is not None:
        return seconds
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _litellm_message(error: BaseException) -> str:
    """LiteLLM repeats its class names before the provider's words."""
    text = str(getattr(error, "message", None) or error)
    return re.sub(r"^(?:litellm\.(?:\w+\.)*\w+: ?(?:\w+(?:Error|Exception) - )?)+", "", text).strip()


def _body_of(error: BaseException) -> Mapping[str, Any]:
    """The provider's error object, which LiteLLM keeps with one of the exceptions that led to its own."""
    seen: BaseException | None = error
    while seen is not None:
        if body := mapping(getattr(seen, "body", None)):
            return mapping(body.get("error")) or body
        seen = seen.__cause__ or seen.__context__
    return {}


def _told(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _one_line(text: str) -> str:
    text = " ".join(text.split())
    text = text if len(text) <= MAX_CAUSE else f"{text[:MAX_CAUSE]}…"
    return text.rstrip(".")
