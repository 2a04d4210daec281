"""Rules of what may run: `tool` or `tool(pattern)`, and what a pattern means for each kind of tool."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import SplitResult, unquote, urlsplit

from agent_chat.core.shell.patterns import CommandPattern, glob_pattern

if TYPE_CHECKING:
    from pathspec import PathSpec

RuleVerdict = Literal["allow", "ask", "deny"]
VERDICTS: tuple[RuleVerdict, ...] = get_args(RuleVerdict)
RuleSource = Literal["shipped", "user", "project", "command line", "session"]
SubjectKind = Literal["command", "path", "url", "argument"]

SUBJECTS: dict[str, tuple[SubjectKind, str]] = {
    "shell": ("command", "command"),
    "read_file": ("path", "path"),
    "write_file": ("path", "path"),
    "edit_file": ("path", "path"),
    "list_files": ("path", "path"),
    "search_text": ("path", "path"),
    "fetch_url": ("url", "url"),
}
"""What a pattern is about, by tool: the kind, and the argument that holds it."""

EXAMPLES = (
    "shell(git status), shell(npm run *), write_file(src/**), fetch_url(docs.python.org), mcp__server__*"
)

_RULE = re.compile(r"\s*([A-Za-z0-9_.*?-]+)\s*(?:\((.*)\)\s*)?", re.DOTALL)
_ARGUMENT = re.compile(r"\s*(\w+)\s*=\s*(.*)", re.DOTALL)
_WORD_WILDCARDS = re.compile(r"[*?]")
_HOST = re.compile(r"(?:\*\.)?[\w.-]+(?::\d+)?|\[[0-9a-fA-F:]+\](?::\d+)?")

Resolve = Callable[[str], str | None]
"""The path, links followed, relative to the workspace, with forward slashes; None where it is outside."""


# Without slots: the pattern is compiled once.
@dataclass(frozen=True)
class Rule:
    """One rule."""

    text: str
    """As it was written."""
    verdict: RuleVerdict
    tool: str
    """The tool's name; `*` and `?` as wildcards."""
    pattern: str | None
    """None: every call of the tool."""
    source: RuleSource
    place: str = ""
    """Where it was written: a file and line, an option."""

    def __str__(self) -> str:
        return f"{self.verdict} {self.text}"

    @property
    def where(self) -> str:
        """Its source, with the place where there is one."""
        return f"{self.source}, {self.place}" if self.place else self.source

    @property
    def is_whole(self) -> bool:
        """Whether it is about every call of its tools."""
        return self.pattern is None or not self.pattern.strip("* ")

    def names(self, tool: str) -> bool:
        return self._name.fullmatch(tool) is not None

    @cached_property
    def command(self) -> CommandPattern:
        """Its pattern, for a tool that runs command lines."""
        return CommandPattern(self.pattern or "*")

    @cached_property
    def _name(self) -> re.Pattern[str]:
        return glob_pattern(self.tool)

    def fits(self, tool: str, arguments: Mapping[str, Any], resolve: Resolve) -> bool:
        """Whether a call of a tool that runs no command lines is one that it is about."""
        if self.pattern is None:
            return True
        kind, name = SUBJECTS.get(tool, ("argument", ""))
        if kind == "argument":
            return _fits_argument(self.pattern, arguments)
        subject = str(arguments.get(name) or ("." if kind == "path" else ""))
        if kind == "url":
            return _fits_url(self.pattern, subject, self.verdict)
        return _fits_path(self.pattern, subject, resolve, self.verdict)


def parse_rule(text: str, verdict: RuleVerdict, source: RuleSource, place: str = "") -> Rule:
    """Reads a rule. Raises ValueError that says what is wrong, with an example."""
    found = _RULE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no rule: write a tool, or tool(pattern), as in {EXAMPLES}")
    tool, pattern = found.group(1), found.group(2)
    rule = Rule(text.strip(), verdict, tool, None if pattern is None else pattern.strip(), source, place)
    if pattern is not None:
        problem = _problem(tool, pattern.strip(), rule)
        if problem:
            raise ValueError(f"{text.strip()!r} is no rule: {problem}")
    return rule


def _problem(tool: str, pattern: str, rule: Rule) -> str:
    if not pattern:
        return f"nothing stands between the parentheses; `{tool}` alone is every call"
    if _WORD_WILDCARDS.search(tool):
        return f"a pattern needs one tool, not {tool}; `{tool}` alone is every call of these tools"
    match SUBJECTS.get(tool, ("argument", ""))[0]:
        case "command":
            try:
                rule.command  # noqa: B018 - read for its mistakes
            except ValueError as error:
                return f"{error}; write the words of one command, as in shell(git push *)"
            if any(word in ("&&", "||", ";", "|", "&") for word in rule.command.words):
                return "a rule is about one command; write one for each, as in shell(git status)"
            return ""
        case "path":
            if pattern.startswith(("/", "~", "!", "#")) or ".." in pattern.split("/"):
                return f"paths are relative to the workspace, as in {tool}(src/**)"
            return _path_problem(pattern)
        case "url":
            rest = pattern.partition("://")[2] if "://" in pattern else pattern
            good = _HOST.fullmatch(rest.partition("/")[0]) or pattern.strip("*") == ""
            if not good or ("://" not in pattern and "/" in pattern):
                return f"write a domain or an address, as in {tool}(docs.python.org), {tool}(https://example.com/api/*)"
            return ""
        case "argument":
            if _ARGUMENT.fullmatch(pattern) or not pattern.strip("*"):
                return ""
            return f"name the argument, as in {tool}(branch=feature/*), or write `{tool}` for every call"


def _path_problem(pattern: str) -> str:
    if not re.search(r"[\[\\]", pattern):
        return ""
    try:
        _path_pattern(pattern)
    except (ValueError, re.error) as error:
        return f"it is no pattern of paths ({error})"
    return ""


def _fits_argument(pattern: str, arguments: Mapping[str, Any]) -> bool:
    if not pattern.strip("*"):
        return True
    found = _ARGUMENT.fullmatch(pattern)
    if found is None or found.group(1) not in arguments:
        return False
    value = arguments[found.group(1)]
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return glob_pattern(found.group(2)).fullmatch(shown) is not None


@cache
def _path_pattern(pattern: str) -> PathSpec[Any]:
    from pathspec import PathSpec

    anchored = pattern.removeprefix(".") if pattern.startswith("./") else pattern
    return PathSpec.from_lines("gitignore", [anchored])


def _fits_path(pattern: str, path: str, resolve: Resolve, verdict: RuleVerdict) -> bool:
    resolved = resolve(path)
    if not pattern.strip("*"):
        return resolved is not None or verdict != "allow"
    if verdict == "allow":
        return resolved is not None and _path_pattern(pattern).match_file(resolved)
    # A file system may not tell cases apart; a path that leads outside is judged as it is written.
    names = {path, resolved or path}
    return any(
        _path_pattern(pattern).match_file(name) or _path_pattern(pattern.lower()).match_file(name.lower())
        for name in names
    )


def _fits_url(pattern: str, url: str, verdict: RuleVerdict) -> bool:
    if not pattern.strip("*"):
        return True
    parts = _split(url)
    if parts is None:
        return False
    if verdict == "allow" and (parts.username is not None or not _is_clean(url)):
        return False
    scheme, separator, rest = pattern.rpartition("://")
    host, slash, path = rest.partition("/")
    if separator and scheme.lower() != parts.scheme:
        return False
    wanted_host, _, wanted_port = host.partition(":") if not host.startswith("[") else (host, "", "")
    if not glob_pattern(wanted_host.lower()).fullmatch(_host(parts)):
        return False
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    if wanted_port and wanted_port != str(port):
        return False
    if not wanted_port and verdict == "allow" and port not in (80, 443):
        return False
    if not separator or not (slash or path):
        return True
    clean = posixpath.normpath(unquote(parts.path) or "/")
    clean += "/" if parts.path.endswith("/") and clean != "/" else ""
    query = f"?{parts.query}" if parts.query else ""
    wanted = glob_pattern(f"/{path}")
    texts = (clean + query,) if verdict == "allow" else (clean + query, clean)
    return any(wanted.fullmatch(text) is not None for text in texts)


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url.strip())
        _ = parts.port
    except ValueError:
        return None
    return parts if parts.hostname else None


def _host(parts: SplitResult) -> str:
    host = (parts.hostname or "").rstrip(".").lower()
    if ":" in host:
        return f"[{host}]"
    try:
        return host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        return host


def _is_clean(url: str) -> bool:
    return not re.search(r"[\s\\\x00-\x1f\x7f]", url)
