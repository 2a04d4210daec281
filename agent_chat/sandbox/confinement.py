"""Which confinement there is on this machine, and how a program is put into it."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from agent_chat.sandbox import bubblewrap
from agent_chat.sandbox.bubblewrap import stand_in
from agent_chat.sandbox.limits import script
from agent_chat.sandbox.profile import Profile
from agent_chat.sandbox.repository import protected

Kind = Literal["bubblewrap", "landlock", "none"]
Wanted = Literal["auto", "bubblewrap", "landlock", "none"]

LAUNCHER = Path(__file__).with_name("launch.py")
TEMPORARY_VARIABLES = ("TMPDIR", "TMP", "TEMP")


class SandboxUnavailable(Exception):
    """The confinement that was asked for cannot be had here; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Confinement:
    """How programs are confined."""

    kind: Kind
    reason: str
    """For people: why this one."""
    gaps: tuple[str, ...] = ()
    """For people: what it does not hold, that the best one would."""

    def describe(self) -> str:
        """One line for people."""
        if self.kind == "none":
            return f"no sandbox: {self.reason}"
        gaps = f"; not covered: {', '.join(self.gaps)}" if self.gaps else ""
        return f"sandbox: {self.reason}{gaps}"


class Wrapped(NamedTuple):
    """A command line, and the environment to run it in, usable for any subprocess."""

    argv: tuple[str, ...]
    env: dict[str, str]


@cache
def choose(wanted: Wanted = "auto") -> Confinement:
    """The best confinement that works here, or the wanted one. Tries it, once a process.

    Raises `SandboxUnavailable` where the wanted one does not work; `auto` gives `none`, with the reason.
    """
    match wanted:
        case "none":
            return Confinement("none", "turned off")
        case "bubblewrap":
            if (found := _bubblewrap()) is None:
                raise SandboxUnavailable(f"bubblewrap cannot be used: {_why_no_bubblewrap()}")
            return found
        case "landlock":
            if (found := _landlock("asked for")) is None:
                raise SandboxUnavailable(f"Landlock cannot be used: {_why_no_landlock()}")
            return found
        case "auto":
            return (
                _bubblewrap()
                or _landlock(_why_no_bubblewrap())
                or Confinement("none", f"{_why_no_bubblewrap()}; {_why_no_landlock()}")
            )


def wrap(
    argv: Sequence[str],
    profile: Profile,
    *,
    env: Mapping[str, str],
    confinement: Confinement | None = None,
    cwd: Path | None = None,
) -> Wrapped:
    """How to run a program confined, with its own standard input and output: a tool server, for instance.

    It, and what it starts, ends with us. `cwd` is the workspace when None; the caller must start the program
    there. On a system without POSIX the command line is what it was.
    """
    return _wrap(argv, profile, env, confinement or choose(), cwd or profile.workspace, supervised=False)


class Sandbox:
    """What the commands of a session run in: a profile, a confinement, and a temporary folder.

    `close` removes the folder; use it when nothing of the session runs any more.
    """

    def __init__(self, profile: Profile, confinement: Confinement | None = None) -> None:
        """Without a confinement the best one is chosen when it is first needed."""
        self._profile = profile
        self._confinement = confinement
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    @property
    def confinement(self) -> Confinement:
        if self._confinement is None:
            self._confinement = choose()
        return self._confinement

    @property
    def profile(self) -> Profile:
        """The profile as of now: with the session's temporary folder, and a repository made meanwhile."""
        if self._profile.temporary is None and self.confinement.kind != "none":
            self._temporary = tempfile.TemporaryDirectory(prefix="agent-chat-", ignore_cleanup_errors=True)
            self._profile = replace(self._profile, temporary=Path(self._temporary.name).resolve())
        return replace(self._profile, protected=protected(self._profile.workspace))

    def wrap(self, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path | None = None) -> Wrapped:
        """As the function `wrap`."""
        return wrap(argv, self.profile, env=env, confinement=self.confinement, cwd=cwd)

    def supervised(self, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> Wrapped:
        """As `wrap`, for the runner: its standard input takes the report of what was left behind."""
        return _wrap(argv, self.profile, env, self.confinement, cwd, supervised=True)

    @property
    def has_supervisor(self) -> bool:
        """Whether a process of ours ends all that a command started when it is told to go."""
        return self.confinement.kind != "bubblewrap"

    @property
    def unheld(self) -> tuple[str, ...]:
        """Protected paths that the confinement cannot hold, so that they must be put back afterwards."""
        match self.confinement.kind:
            case "none":
                return ()
            case "landlock":
                return self.profile.protected
            case "bubblewrap":
                profile = self.profile
                return tuple(name for name in profile.protected if not _is_mounted(profile.workspace / name))

    def describe(self) -> str:
        """A few words for people who are asked whether a command may run."""
        if self.confinement.kind == "none":
            return "no sandbox"
        network = "network on" if self._profile.network else "network off"
        return f"sandbox: {self.confinement.kind}, {network}"

    def close(self) -> None:
        """May be called twice."""
        if self._temporary is not None:
            self._temporary.cleanup()


def _is_mounted(path: Path) -> bool:
    return path.exists() and path.resolve() == path


def _wrap(
    argv: Sequence[str],
    profile: Profile,
    env: Mapping[str, str],
    confinement: Confinement,
    cwd: Path,
    *,
    supervised: bool,
) -> Wrapped:
    if sys.platform == "win32":
        return Wrapped(tuple(argv), dict(env))
    if confinement.kind == "bubblewrap":
        # Where the user's own temporary folder is, nothing can be written in there.
        variables = {**env, **dict.fromkeys(TEMPORARY_VARIABLES, "/tmp")}
        return Wrapped(bubblewrap.wrap(argv, profile, cwd, supervised=supervised), variables)
    options = ["--supervised", "--parent", str(os.getpid())] if supervised else []
    variables = dict(env)
    if confinement.kind == "landlock":
        options += _landlock_options(profile)
        variables |= _private_folders(profile)
    else:
        options.append("--unconfined")
    limited = ("/bin/sh", "-c", script(profile.limits) + 'exec "$@"\n', "sh", *argv)
    return Wrapped((sys.executable, "-I", "-S", str(LAUNCHER), *options, "--", *limited), variables)


def _landlock_options(profile: Profile) -> list[str]:
    options = ["--network"] if profile.network else []
    for path, access in profile.rules().items():
        options += [f"--{'hide' if access == 'private' else access}", str(path)]
    if profile.temporary is not None:
        options += ["--write", str(profile.temporary)]
    return options


def _private_folders(profile: Profile) -> dict[str, str]:
    """Where programs are to write what they would write into the folders that are hidden."""
    if profile.temporary is None:
        return {}
    temporary = str(stand_in(profile.temporary, Path("/tmp")))
    cache = str(stand_in(profile.temporary, Path("/cache")))
    return {**dict.fromkeys(TEMPORARY_VARIABLES, temporary), "XDG_CACHE_HOME": cache}


def _bubblewrap() -> Confinement | None:
    if sys.platform != "linux" or bubblewrap.available() is None:
        return None
    return Confinement("bubblewrap", "bubblewrap")


def _why_no_bubblewrap() -> str:
    if sys.platform != "linux":
        return f"there is no sandbox for {sys.platform} yet"
    if not bubblewrap.is_installed():
        return "bubblewrap is not installed (the package is called bubblewrap)"
    return "bubblewrap does not work here (user namespaces are not allowed)"


def _landlock(why: str) -> Confinement | None:
    if sys.platform != "linux":
        return None
    from agent_chat.sandbox import landlock, seccomp

    abi = landlock.version()
    if not abi:
        return None
    gaps = ["modes, owners and times of files outside the workspace"]
    if seccomp.call_filter(()) is None:
        gaps.append("UDP and local sockets" if abi >= landlock.NETWORK_VERSION else "the network")
    if abi < landlock.TRUNCATE_VERSION:
        gaps.append("emptying files outside the workspace")
    if abi < landlock.SCOPE_VERSION:
        gaps.append("signals to other processes of the user")
    return Confinement("landlock", f"Landlock {abi} ({why})", tuple(gaps))


def _why_no_landlock() -> str:
    return "this kernel has no Landlock" if sys.platform == "linux" else "Landlock is Linux only"
