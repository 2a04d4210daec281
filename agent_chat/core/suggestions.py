"""The rule that would allow a call, and others like it, from now on."""

from __future__ import annotations

import re
import shlex
from urllib.parse import urlsplit

from agent_chat.core.approval import ApprovalRequest
from agent_chat.core.rules import SUBJECTS, Resolve
from agent_chat.core.shell.line import command_name


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WITH_SUBCOMMANDS = _words(
    "git npm pnpm yarn cargo go pip pip3 docker podman kubectl helm apt brew gh poetry uv systemctl make"
    " terraform dotnet mvn gradle bundle rails composer flutter conda"
)
_SCRIPTS = frozenset(("run", "run-script"))
_EXACT_ONLY = _words(
    "rm rmdir mv cp dd chmod chown chgrp kill pkill killall tee ln truncate shred curl wget nc scp rsync sftp"
    " mkfs mount umount reboot shutdown systemctl crontab at source python python3 node perl ruby php sh bash"
    " zsh kubectl terraform helm apt brew docker podman"
)
_EXACT_SUBCOMMANDS = {
    "git": _words("push reset clean checkout restore rebase rm filter-branch gc stash branch tag"),
    "npm": _words("publish install i uninstall unpublish exec"),
    "cargo": frozenset(("publish", "install")),
    "pip": frozenset(("install", "uninstall")),
    "pip3": frozenset(("install", "uninstall")),
    "gh": _words("api repo release secret auth"),
    "poetry": frozenset(("publish",)),
    "uv": frozenset(("publish", "pip")),
    "yarn": frozenset(("publish",)),
    "pnpm": frozenset(("publish",)),
}


def suggest_rule(request: ApprovalRequest, resolve: Resolve) -> str | None:
    """As narrow as makes sense: this file, this domain, this command with any arguments; a command that
    destroys or runs others only word by word. None where no rule covers a call like this (several commands
    in one line, a path outside the workspace)."""
    kind, name = SUBJECTS.get(request.name, ("argument", ""))
    if kind == "argument":
        return request.name
    subject = str(request.arguments.get(name) or ("." if kind == "path" else ""))
    match kind:
        case "command":
            pattern = _command(subject)
        case "path":
            pattern = _file(resolve(subject))
        case "url":
            pattern = _domain(subject)
    return None if pattern is None else f"{request.name}({pattern})"


def _file(path: str | None) -> str | None:
    if path is None or path == ".":
        return None if path is None else "*"
    escaped = re.sub(r"([*?\[\]\\! ])", r"\\\1", path)
    return escaped if "/" in path else f"./{escaped}"


def _command(text: str) -> str | None:
    from agent_chat.core.shell.reader import read_line

    line = read_line(text)
    if line.single is None:
        return None
    words = line.single
    name = command_name(line.commands[0].words[0])
    fixed = 2 if name in _WITH_SUBCOMMANDS and len(words) > 1 else 1
    if fixed == 2 and len(words) > 2 and not _SCRIPTS.isdisjoint(words[1:2]):
        fixed = 3
    is_exact = (
        bool(line.commands[0].risks)
        or name in _EXACT_ONLY
        or not _EXACT_SUBCOMMANDS.get(name, frozenset()).isdisjoint(words[1:2])
        or any(word.startswith("-") for word in words[:fixed])
    )
    if is_exact or len(words) == fixed:
        return _joined(words)
    return f"{_joined(words[:fixed])} *"


def _joined(words: tuple[str, ...]) -> str:
    # Wildcards stay as they are: quoting would not take their meaning in a rule.
    return " ".join(
        word if re.fullmatch(r"[\w./:=@%+,^~*?\[\]#-]+", word) else shlex.quote(word) for word in words
    )


def _domain(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port not in (None, 80, 443) else ""
    except ValueError:
        return None
    if not parts.hostname or parts.username is not None:
        return None
    host = parts.hostname.lower()
    return f"[{host}]{port}" if ":" in host else f"{host}{port}"
