"""Takes credentials out of text: the one filter for what logs, traces, screens and models may see.

Three things count as a credential: a known secret value, what has the form of a provider's key, and a value
that looks random where a name says that it is secret (`api_key=…`, `Authorization: …`, `"password": "…"`).
Hashes, identifiers and encoded data without such a name stay.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast
from urllib.parse import quote

MASK = "[masked]"
SHORTEST_SECRET = 6
"""Characters; a shorter value cannot be told from words."""

_SECRET_NAME = re.compile(
    r"(^|_)(API_?)?KEYS?(_ID)?$|APIKEY|TOKENS?(_|$)|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASSFILE|CREDENTIAL"
    r"|(^|_)(PASS|PWD|AUTH|AUTHORIZATION|DSN|PAT|COOKIE|CONNECTION_STRING)$",
    re.IGNORECASE,
)
_NOT_SECRET = frozenset({"PWD", "OLDPWD"})


def is_secret_name(name: str) -> bool:
    """Whether a variable or setting of this name holds a credential, as names go."""
    return name.upper() not in _NOT_SECRET and _SECRET_NAME.search(name) is not None


# Each form begins with text that is looked for first, which makes text without credentials cheap. Every
# repetition is bounded: no input can make the search slow.
_FORMS: Mapping[str, str] = {
    # OpenAI, Anthropic, OpenRouter, DeepSeek, LiteLLM, Langfuse; also as providers shorten them: sk-ab***yz
    "sk-": r"(?:(?:or-v\d|ant|proj|svcacct|admin|lf)-[\w*-]{8,400}|[0-9a-f]{32,128}\b"
    r"|[\w-]{0,20}\*{2,200}[\w-]{0,20}"
    r"|(?=[\w-]{0,64}\d)(?=[\w-]{0,64}[A-Z])[\w*.-]{6,400})",
    "pk-lf-": r"[\w-]{8,100}",
    "sk_live_": r"\w{8,200}",
    "sk_test_": r"\w{8,200}",
    "rk_live_": r"\w{8,200}",
    "AIza": r"[\w-]{6,100}",
    "ya29.": r"[\w-]{20,1000}",
    "gsk_": r"\w{6,200}",
    "xai-": r"\w{6,200}",
    "hf_": r"[A-Za-z0-9]{6,200}",
    "pplx-": r"\w{16,200}",
    "r8_": r"\w{20,100}",
    "nvapi-": r"[\w-]{20,200}",
    "AKIA": r"[A-Z0-9]{12,28}\b",
    "ASIA": r"[A-Z0-9]{12,28}\b",
    "ghp_": r"\w{6,255}",
    "gho_": r"\w{6,255}",
    "ghu_": r"\w{6,255}",
    "ghs_": r"\w{6,255}",
    "ghr_": r"\w{6,255}",
    "github_pat_": r"\w{6,255}",
    "glpat-": r"[\w-]{6,255}",
    "xoxb-": r"[\w-]{6,255}",
    "xoxp-": r"[\w-]{6,255}",
    "xoxa-": r"[\w-]{6,255}",
    "xoxe": r"[.-][\w.-]{6,255}",
    "xoxs-": r"[\w-]{6,255}",
    "npm_": r"[A-Za-z0-9]{30,100}",
    "pypi-": r"[\w-]{40,400}",
    "SG.": r"[\w-]{16,64}\.[\w-]{16,128}",
    "dckr_pat_": r"[\w-]{16,100}",
    "eyJ": r"[\w-]{8,1024}\.ey[\w-]{8,8192}\.[\w-]{0,2048}",  # JSON web tokens
}
_KEYS = tuple(
    (start, re.compile(rf"{re.escape(start)}(?<!\w{re.escape(start)}){rest}"))
    for start, rest in _FORMS.items()
)
_KEYS_BY_SIGN = tuple(
    (sign, tuple(key for key in _KEYS if next((c for c in "-_" if c in key[0]), "") == sign))
    for sign in ("-", "_", "")
)
"""A single character is found faster than a word: without it none of its keys is there."""
_PRIVATE_KEY_BEGINS = "-----BEGIN "
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY[A-Z ]{0,10}-----")
_PRIVATE_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY[A-Z ]{0,10}-----")
_LOGIN = re.compile(r"(://[^/\s@:\"'\\<>]{0,200}:)(?![$<{%])[^/\s@\"'\\<>]{1,400}(?=@)")

_JOINED = (
    *("api_key", "secret_key", "access_key", "private_key", "client_secret"),
    *("access_token", "auth_token", "refresh_token"),
)
_STRONG = (
    *("apikey", "authorization", "password", "passwd", "bearer"),
    *(name.replace("_", sign) for name in _JOINED for sign in "_-"),
)
"""Names whose value is a credential when it is no plain word."""
_WEAK = ("token", "secret", "credential", "pwd")
"""Names whose value is one when it looks random."""
_NAMES = (*((name, True) for name in _STRONG), *((name, False) for name in _WEAK))
_VALUE = r"(?P<value>(?![$%*<\[{])[^\s\"'`\\,;(){}\[\]<>&|]{6,512}+)(?![(\[])"
_ASSIGNED = re.compile(
    rf"[\w-]{{0,24}}(?:\\{{0,3}}[\"'])?\s{{0,3}}(?:=>|:=|[:=])\s{{0,3}}(?:\\{{0,3}}[\"'])?"
    rf"(?:(?i:bearer|basic|token|apikey)\s{{1,3}})?{_VALUE}"
)
_FOLLOWS = re.compile(rf"\s{{1,3}}{_VALUE}")
_OPTION = re.compile(r"--[\w-]{0,30}\Z")
_PLACEHOLDER = re.compile(r"your|xxx|\*\*\*|\.\.\.|os\.environ|masked", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[A-Za-z_]+\d{0,2}(?:[._-]+[A-Za-z_]+\d{0,2})*")
_MIXED = re.compile(r"(?=.*\d)(?=.*[A-Za-z])")
_QUERY = re.compile(r"([?&](?:key|sig|signature|code|auth)=)([^\s\"'&<>\\]{6,4096})")


class Redactor:
    """Masks credentials. Without known values it goes by forms and names alone.

    `values` are exact secrets, masked wherever they stand; `pairs` are variables with their values, masked
    where name and value stand together (`NAME=value`), for values that are also words.
    """

    def __init__(self, values: Iterable[str] = (), pairs: Iterable[tuple[str, str]] = ()) -> None:
        exact: dict[str, str] = {}
        for value in sorted(set(values), key=len, reverse=True):
            if len(value) >= SHORTEST_SECRET:
                for form in (value, json.dumps(value)[1:-1], quote(value, safe="")):
                    exact[form] = MASK
        for name, value in pairs:
            if value:
                exact[f"{name}={value}"] = f"{name}={MASK}"
        self._exact = tuple(exact.items())

    def __call__(self, text: str) -> str:
        """The text with a mask for every credential; the very same where there is none."""
        for secret, masked in self._exact:
            if secret in text:
                text = text.replace(secret, masked)
        if len(text) < SHORTEST_SECRET:
            return text
        for sign, keys in _KEYS_BY_SIGN:
            if sign in text:
                for start, pattern in keys:
                    if start in text:
                        text = pattern.sub(MASK, text)
        if _PRIVATE_KEY_BEGINS in text:
            text = _without(text, _private_keys(text))
        if "://" in text and "@" in text:
            text = _LOGIN.sub(rf"\1{MASK}", text)
        if "=" in text and ("?" in text or "&" in text):
            text = _QUERY.sub(_masked_query, text)
        if ":" in text or "=" in text or "--" in text or "earer" in text:
            return _without(text, _named(text))
        return text

    def value(self, value: Any) -> Any:
        """The same for everything inside a JSON-like value; what is named like a secret goes by its name."""
        match value:
            case str():
                return self(value)
            case dict():
                return self._mapping(cast("dict[Any, Any]", value))
            case list() | tuple():
                items = list(cast("list[Any] | tuple[Any, ...]", value))
                changed = [self.value(item) for item in items]
                if all(new is old for new, old in zip(changed, items, strict=True)):
                    return cast("Any", value)
                return tuple(changed) if isinstance(value, tuple) else changed
            case _:
                return value

    def _mapping(self, items: dict[Any, Any]) -> dict[Any, Any]:
        changed = {key: self._item(key, item) for key, item in items.items()}
        return items if all(changed[key] is items[key] for key in items) else changed

    def _item(self, key: Any, item: Any) -> Any:
        if isinstance(key, str) and isinstance(item, str) and is_secret_name(key):
            strong = any(name in key.lower() for name in _STRONG)
            if " " not in item and _is_credential(item, strong=strong):
                return MASK
        return self.value(item)


def from_environment(environ: Mapping[str, str], secrets: Iterable[str] = ()) -> Redactor:
    """A filter that knows the values of secret-named variables. `secrets` are further exact values.

    A value that is also a word, a number or a path is masked only beside its name.
    """
    named = [(name, value.strip()) for name, value in environ.items() if is_secret_name(name)]
    values = [value for _, value in named if _is_unlike_words(value)]
    return Redactor([*secrets, *values], [pair for pair in named if not _is_unlike_words(pair[1])])


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without `secrets` and without all that looks like a credential."""
    return Redactor(secrets)(text)


class RedactedStream:
    """The same filter for text that comes in pieces: what may become a credential waits."""

    LONGEST = 16_384
    """Characters that are held back at most."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""

    def feed(self, piece: str) -> str:
        text = self._held + piece
        end = max(text.rfind("\n"), text.rfind("\r")) + 1
        begins = text.rfind(_PRIVATE_KEY_BEGINS, 0, end)
        if begins >= 0 and "PRIVATE KEY" in text[begins:end] and "-----END " not in text[begins:]:
            end = begins
        if len(text) - end > self.LONGEST or not _may_become_a_credential(text[end:]):
            end = len(text)
        self._held = text[end:]
        return self._redactor(text[:end])


def _may_become_a_credential(text: str) -> bool:
    word = text.rpartition(" ")[2]
    return re.search(r"[-_=:@/.]", text) is not None or any(
        start.startswith(word) or word.startswith(start) for start in _FORMS if word
    )


def _masked_query(match: re.Match[str]) -> str:
    value = match[2]
    return f"{match[1]}{MASK}" if _is_credential(value, strong=True) else match[0]


def _private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Where they stand; one without an end goes on to the next quotation mark, or to the end of the text."""
    end, more_ends = 0, True
    while begins := _PRIVATE_KEY.search(text, end):
        ends = _PRIVATE_KEY_ENDS.search(text, begins.end()) if more_ends else None
        more_ends = ends is not None
        if ends is not None:
            end = ends.end()
        else:
            quoted = text.find('"', begins.end())
            end = quoted if quoted >= 0 else len(text)
        yield begins.start(), end


def _named(text: str) -> Iterator[tuple[int, int]]:
    """Where credentials stand behind a name that says so."""
    lowered = text.lower()
    if len(lowered) != len(text):  # some letters change their length
        lowered = re.sub(r"[A-Z]+", lambda match: match[0].lower(), text)
    has_options = "--" in text
    for name, strong in _NAMES:
        at = lowered.find(name)
        while at >= 0:
            end = at + len(name)
            found = _ASSIGNED.match(text, end)
            if found is None and (
                name == "bearer" or (has_options and _OPTION.search(text, max(0, at - 32), at))
            ):
                found = _FOLLOWS.match(text, end)
            if found is not None and _is_credential(found["value"], strong=strong):
                yield found.span("value")
            at = lowered.find(name, end if found is None else found.end())


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end in sorted(set(spans)):
        if start >= at:
            pieces.extend((text[at:start], MASK))
            at = end
    return text if not pieces else "".join((*pieces, text[at:]))


def _is_credential(value: str, *, strong: bool) -> bool:
    if len(value) < 8 or _PLACEHOLDER.search(value) or value.startswith(("/", "~/", "./", "http")):
        return False
    if _looks_random(value):
        return True
    if not strong or not _MIXED.match(value):
        return False
    return not (_IDENTIFIER.fullmatch(value) and re.search(r"[._]", value))


def _looks_random(value: str) -> bool:
    """Letters and digits that change often, or many different characters of several kinds."""
    if _IDENTIFIER.fullmatch(value):
        return False
    changes = len(re.findall(r"(?<=\d)[A-Za-z]|(?<=[A-Za-z])\d", value))
    if len(value) >= 10 and changes >= 3:
        return True
    kinds = sum(re.search(kind, value) is not None for kind in ("[a-z]", "[A-Z]", r"\d", r"[/+=!@#^*~-]"))
    return len(value) >= 20 and kinds >= 3 and _entropy(value) >= 4.0


def _entropy(text: str) -> float:
    """Bits a character."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def _is_unlike_words(value: str) -> bool:
    if len(value) < 8 or value.startswith(("/", "~", ".")) or value.isdigit():
        return False
    return bool(_MIXED.match(value)) or len(value) >= 16
