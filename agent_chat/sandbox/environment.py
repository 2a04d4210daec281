"""The environment that commands and tool servers get: ours, without what opens doors.

Out are variables named like a secret, values that are one, whatever repeats such a value, sockets of the
desktop and of daemons, and variables that make a shell run a file. A variable named on purpose passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit, urlunsplit

from agent_chat.core.redaction import is_secret_name, redact

VENDORS = ("AWS_", "AZURE_", "ARM_", "GCP_", "GCLOUD_", "CLOUDSDK_", "VAULT_", "AGENT_CHAT_")
"""Families that hold credentials or say where they are, and our own settings."""

SHORTEST_SECRET = 8
"""Characters; a shorter value is in other variables by chance."""

ALWAYS = frozenset({"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "SYSTEMROOT"})
"""Kept whatever they look like: nothing works without."""

DOORS = frozenset(
    {
        "SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "GIT_ASKPASS", "SUDO_ASKPASS", "GPG_AGENT_INFO",
        "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "XDG_RUNTIME_DIR", "XAUTHORITY", "DISPLAY",
        "WAYLAND_DISPLAY", "DOCKER_HOST", "CONTAINER_HOST", "KUBECONFIG", "TMUX", "STY",
        "BASH_ENV", "ENV", "ZDOTDIR", "PROMPT_COMMAND", "VSCODE_IPC_HOOK_CLI",
    }
)  # fmt: skip
"""Sockets and terminals of the user's session, and what a shell would run before the command."""

PROXIES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY"})

QUIET = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "DEBIAN_FRONTEND": "noninteractive",
}
"""There is no terminal: no colors, no pager, no question."""


def is_door(name: str) -> bool:
    """Whether a variable of this name holds a credential or says where one is, as names go."""
    return is_secret_name(name) or name.upper().startswith(VENDORS)


def tool_environment(
    environ: Mapping[str, str], *, pass_env: Iterable[str] = (), secrets: Iterable[str] = ()
) -> dict[str, str]:
    """What of `environ` commands and tool servers get.

    `pass_env`: names that pass whatever they hold. `secrets`: names that are secret whatever they look like:
    the variables that hold the models' keys.
    """
    passed, named = frozenset(pass_env), frozenset(secrets)
    known = {
        value
        for name, value in environ.items()
        if (name in named or is_secret_name(name)) and len(value) >= SHORTEST_SECRET
    }
    kept = dict(QUIET)
    for name, value in environ.items():
        if name in passed or name.upper() in ALWAYS:
            kept[name] = value
        elif name in named or name in DOORS or name in QUIET or is_door(name):
            continue
        elif name.upper() in PROXIES:
            kept[name] = _without_login(value)
        elif not _is_secret(value, known):
            kept[name] = value
    return kept


def _is_secret(value: str, known: Iterable[str]) -> bool:
    return value.startswith("sk-") or redact(value) != value or any(secret in value for secret in known)


def _without_login(proxy: str) -> str:
    """A proxy's address without user and password."""
    bare = "://" not in proxy
    try:
        parts = urlsplit(f"//{proxy}" if bare else proxy)
    except ValueError:
        return ""
    host = parts.netloc.rpartition("@")[2]
    return host if bare else urlunsplit(parts._replace(netloc=host))
