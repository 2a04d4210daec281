"""The one table of how a model call can fail: every status, error code and exception, mapped once.

What each kind means (retry, fall back, stop reason) is `core.errors.POLICIES`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from agent_chat.core.errors import FailureKind

STATUSES: dict[int, FailureKind] = {
    400: "request",
    401: "auth",
    402: "quota",
    403: "auth",
    404: "not_found",
    405: "not_found",
    408: "timeout",
    409: "unavailable",
    413: "request",
    422: "request",
    425: "unavailable",
    429: "rate_limited",
    499: "connection",
    504: "timeout",
}
"""Statuses that have a meaning of their own; any other 4xx is `request`, any 5xx `unavailable`."""

CODES: dict[str, FailureKind] = {
    "insufficient_quota": "quota",
    "billing_error": "quota",
    "billing_hard_limit_reached": "quota",
    "exceeded_current_quota_error": "quota",
    "invalid_api_key": "auth",
    "authentication_error": "auth",
    "permission_error": "auth",
    "permission_denied": "auth",
    "unauthenticated": "auth",
    "model_not_found": "not_found",
    "not_found_error": "not_found",
    "context_length_exceeded": "context_overflow",
    "exceed_context_size_error": "context_overflow",
    "string_above_max_length": "request",
    "unsupported_parameter": "unsupported_parameter",
    "unsupported_value": "unsupported_parameter",
    "unknown_parameter": "unsupported_parameter",
    "content_filter": "content_filtered",
    "content_policy_violation": "content_filtered",
    "rate_limit_error": "rate_limited",
    "rate_limit_exceeded": "rate_limited",
    "resource_exhausted": "rate_limited",
    "tokens": "rate_limited",
    "requests": "rate_limited",
    "overloaded_error": "unavailable",
    "server_error": "unavailable",
    "api_error": "unavailable",
    "internal_server_error": "unavailable",
    "service_unavailable": "unavailable",
    "unavailable": "unavailable",
    "engine_overloaded": "unavailable",
    "timeout_error": "timeout",
    "invalid_request_error": "request",
}
"""What providers write as `code`, `type` or `status` of an error."""

_OVERFLOW = re.compile(
    r"exceeds? (?:the )?(?:model's |available |maximum |max )*context"
    r"|maximum context (?:length|limit)"
    r"|maximum input length is .* tokens"
    r"|context (?:window|length|size) (?:is |was )?(?:exceeded|overflow)"
    r"|longer than the model's context"
    r"|(?:prompt|input) (?:is )?too long"
    r"|input (?:tokens|length) exceeds?"
    r"|input tokens exceed"
    r"|input token count .* exceeds"
    r"|exceeds the maximum number of tokens"
    r"|inputs` tokens \+ `max_new_tokens"
    r"|too many (?:input )?tokens"
    r"|current length is .* while limit is"
    r"|reduce the length of the (?:messages|prompt|input)"
    r"|request too large",
    re.IGNORECASE,
)
_UNSUPPORTED = re.compile(
    r"(?:unsupported|unknown|unrecognized|unexpected) (?:request )?(?:parameter|argument|value|field)s?"
    r"(?: supplied)?:? *['\"`]?(?P<a>[a-z_][\w.]*)"
    r"|['\"`](?P<b>[a-z_][\w.]*)['\"`] (?:is|are) not (?:supported|permitted|allowed)"
    r"|(?:does not|doesn't|not) support (?:the )?(?:parameters?:? *)?(?:\[)?['\"`]?(?P<c>[a-z_][\w.]*)"
    r"|['\"`]?(?P<d>[a-z_]\w*)['\"`]?: extra inputs are not permitted",
    re.IGNORECASE,
)
_EXTRA_FIELD = re.compile(r'"extra_forbidden", "loc": \["body", "(\w+)"')
"""As servers built on pydantic say it."""
_QUOTA = re.compile(
    r"insufficient[_ ](?:quota|balance|credits?|funds)|exceeded your current quota|credit balance is too low",
    re.IGNORECASE,
)

EXCEPTIONS: dict[str, FailureKind] = {
    "AuthenticationError": "auth",
    "CallerCredentialAuthenticationError": "auth",
    "PermissionDeniedError": "auth",
    "NotFoundError": "not_found",
    "LiteLLMUnknownProvider": "not_found",
    "ModelNotMappedError": "not_found",
    "EndpointNotSupportedByModelError": "not_found",
    "UnsupportedEndpointError": "not_found",
    "BadRequestError": "request",
    "InvalidRequestError": "request",
    "ImageFetchError": "request",
    "VectorStoreSearchError": "request",
    "MalformedRequestFieldError": "request",
    "UnprocessableEntityError": "request",
    "BlockedPiiEntityError": "request",
    "GuardrailRaisedException": "request",
    "ModifyResponseException": "request",
    "SensitiveDataRouteException": "request",
    "UnsupportedParamsError": "unsupported_parameter",
    "ContextWindowExceededError": "context_overflow",
    "ContentPolicyViolationError": "content_filtered",
    "RejectedRequestError": "content_filtered",
    "PaymentRequiredError": "quota",
    "BudgetExceededError": "quota",
    "RateLimitError": "rate_limited",
    "CallerCredentialRateLimitError": "rate_limited",
    "Timeout": "timeout",
    "ServiceUnavailableError": "unavailable",
    "BadGatewayError": "unavailable",
    "InternalServerError": "unavailable",
    "APIError": "unavailable",
    "OpenAIError": "unavailable",
    "MockException": "unavailable",
    "APIConnectionError": "connection",
    "MidStreamFallbackError": "connection",
    "APIResponseValidationError": "protocol",
    "JSONSchemaValidationError": "protocol",
}
"""LiteLLM's exceptions by name. An exception that is not here is one of its bases that is."""


def classify(fields: Mapping[str, Any], message: str, status: int | None) -> FailureKind:
    """The kind of an error object. Its own words count more than the status: a 400 can mean many things."""
    if status is None:
        status = _status_inside(fields)
    base: FailureKind | None = None
    if status is not None:
        base = kind_of_status(status)
    return refine(base, fields, message, status)


def kind_of_status(status: int) -> FailureKind:
    """What an HTTP status alone says."""
    if status in STATUSES:
        return STATUSES[status]
    if status >= 500:
        return "unavailable"
    return "request" if status >= 400 else "not_found"


def refine(
    base: FailureKind | None, fields: Mapping[str, Any], message: str, status: int | None
) -> FailureKind:
    named: list[FailureKind] = [
        kind
        for name in ("code", "type", "status")
        if isinstance(value := fields.get(name), str) and (kind := CODES.get(value.lower()))
    ]
    refusable = base in (None, "request", "unavailable", "rate_limited", "connection")
    if "context_overflow" in named or (refusable and base != "rate_limited" and _OVERFLOW.search(message)):
        return "context_overflow"
    if "quota" in named or (refusable and _QUOTA.search(message)):
        return "quota"
    if base in (None, "request"):
        if named and named[0] != "request":
            return named[0]
        unsupported = _UNSUPPORTED.search(message) or _EXTRA_FIELD.search(message)
        if unsupported and refused_parameter(fields, message):
            return "unsupported_parameter"
        if "API key" in message and re.search(r"(?i)invalid|not valid|incorrect", message):
            return "auth"
        if named:
            return named[0]
    # A stream that reports an error without any code: most often the provider is in trouble.
    return base or "unavailable"


def _status_inside(fields: Mapping[str, Any]) -> int | None:
    """Some providers put the HTTP status into the error of a 200 stream."""
    for name in ("code", "status", "status_code"):
        value = fields.get(name)
        if isinstance(value, str) and value.isdigit():
            value = int(value)
        if isinstance(value, int) and 400 <= value <= 599:
            return value
    return None


def refused_parameter(fields: Mapping[str, Any], message: str) -> str | None:
    """Which parameter was refused."""
    named = fields.get("param")
    if isinstance(named, str) and re.fullmatch(r"[a-z_][\w.]*", named):
        return named.split(".")[0]
    if found := _EXTRA_FIELD.search(message):
        return found.group(1)
    if found := _UNSUPPORTED.search(message):
        name = next(group for group in found.groups() if group)
        return name.split(".")[0]
    return None


def exception_kind(error: BaseException) -> FailureKind:
    for base in type(error).__mro__:
        if kind := EXCEPTIONS.get(base.__name__):
            return kind
    return "unavailable"


def error_message(fields: Mapping[str, Any]) -> str:
    for name in ("message", "msg", "error", "detail", "error_description"):
        value = fields.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if isinstance(value, Mapping | list) and value:
            return json.dumps(value, ensure_ascii=False, default=str)
    metadata = fields.get("metadata")
    return json.dumps(metadata, ensure_ascii=False, default=str) if isinstance(metadata, Mapping) else ""
