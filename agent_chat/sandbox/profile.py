"""What a confined program may see and change: the profile that every confinement carries out.

Everything is readable but what is hidden: homes, temporary folders, run-time folders with their sockets.
Inside these, what it takes to run the user's tools is readable again. The workspace is writable, but for
what would run outside the sandbox later.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from agent_chat.sandbox.limits import Limits
from agent_chat.sandbox.repository import protected, readable_repository

HIDDEN = ("/home", "/root", "/run", "/tmp", "/var/tmp", "/etc/shadow", "/etc/gshadow", "/etc/ssl/private")
PRIVATE = ("/tmp", "/var/tmp")
"""Hidden, and in its place a folder of the session's own."""

VISIBLE = ("/run/current-system", "/run/booted-system", "/etc/resolv.conf")
"""Programs of NixOS; how names are looked up, where it is a link into a run-time folder."""

TOOLCHAINS = (
    ".pyenv", ".rbenv", ".nodenv", ".nvm", ".volta", ".fnm", ".asdf", ".sdkman", ".jenv", ".rustup",
    ".cargo/bin", ".cargo/env", ".cargo/registry", ".cargo/git", ".cargo/config.toml", "go", ".deno/bin",
    ".bun/bin", ".bun/install", ".dotnet", ".ghcup", ".opam", ".juliaup", ".gem/ruby", ".poetry",
    ".local/bin",     ".local/lib", ".local/pipx", ".local/share/pipx", ".local/share/uv/python",
    ".local/share/uv/tools", ".local/share/mise",
    ".local/share/fnm", ".local/share/pnpm", ".m2/repository", ".nix-profile", ".local/state/nix",
    "miniconda3", "miniforge3", "mambaforge", "anaconda3", ".gitconfig", ".config/git/config",
    ".config/git/ignore", ".config/git/attributes",
)  # fmt: skip
"""In the home: readable, so that the user's tools run. Names who commits, never what logs in."""

TOOLCHAIN_VARIABLES = (
    "VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "RUSTUP_HOME", "GOROOT", "GOPATH", "JAVA_HOME", "NVM_DIR",
    "VOLTA_HOME", "ASDF_DATA_DIR", "BUN_INSTALL", "DOTNET_ROOT", "UV_PYTHON_INSTALL_DIR",
)  # fmt: skip

SENSITIVE = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".git-credentials", ".npmrc", ".pypirc",
    ".password-store", ".config/gh", ".config/gcloud", ".config/git/credentials", ".config/agent-chat",
    ".config/google-chrome", ".config/chromium", ".local/share/agent-chat", ".local/state/agent-chat",
    ".local/share/keyrings", ".cache/agent-chat", ".cargo/credentials", ".cargo/credentials.toml", ".mozilla",
    ".thunderbird", ".bash_history", ".zsh_history", ".python_history", ".Xauthority", ".ICEauthority",
)  # fmt: skip
"""In the home: hidden where the workspace holds the home."""

STARTUP = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile",
    ".config/fish", ".config/autostart", ".config/systemd", ".gitconfig", ".config/git",
)  # fmt: skip
"""In the home: run outside the sandbox; not writable where the workspace holds the home."""

Access = Literal["read", "write", "hide", "private"]


@dataclass(frozen=True, slots=True)
class Profile:
    """All paths are absolute and without links, but for those in `protected`."""

    workspace: Path
    network: bool = False
    readable: tuple[Path, ...] = ()
    """What is seen of hidden folders."""
    writable: tuple[Path, ...] = ()
    """What may be changed besides the workspace."""
    hidden: tuple[Path, ...] = ()
    private: tuple[Path, ...] = ()
    """Hidden, and in its place something writable that is empty at first."""
    protected: tuple[str, ...] = ()
    """Relative to the workspace: readable only."""
    temporary: Path | None = None
    """A folder of the session's own for the private ones; None for such that go with the program."""
    limits: Limits = field(default_factory=Limits)

    def protected_paths(self) -> tuple[Path, ...]:
        """They may not exist, and may be links."""
        return tuple(self.workspace / name for name in self.protected)

    def rules(self) -> dict[Path, Access]:
        """What holds for a path and all below it, unless a rule for a longer path says otherwise.

        Ordered so that a rule comes after those that it makes an exception to. `protected` is not among them.
        """
        rules: dict[Path, Access] = dict.fromkeys(self.hidden, "hide")
        rules |= dict.fromkeys(self.private, "private")
        rules |= dict.fromkeys(self.readable, "read")
        rules |= dict.fromkeys((self.workspace, *self.writable), "write")
        ordered = dict(sorted(rules.items(), key=lambda rule: rule[0].parts))
        return {path: access for path, access in ordered.items() if not _is_hidden_anyway(path, ordered)}


def standard_profile(
    workspace: Path,
    environ: Mapping[str, str],
    *,
    network: bool = False,
    readable: Iterable[Path] = (),
    writable: Iterable[Path] = (),
    hidden: Iterable[Path] = (),
    temporary: Path | None = None,
    limits: Limits | None = None,
) -> Profile:
    """The profile for a workspace, with the user's home, tools and interpreter as `environ` names them.

    `readable`, `writable` and `hidden` add to it; what does not exist is left out.
    """
    workspace = workspace.resolve()
    home = _home(environ)
    hide: list[str | Path] = [*HIDDEN, *hidden]
    read: list[str | Path] = [
        *VISIBLE,
        *_of_interpreter(),
        *_of_environment(environ),
        *readable_repository(workspace),
    ]
    if home is not None:
        hide.append(home)
        read += [home / name for name in TOOLCHAINS]
    holds_home = home is not None and home.is_relative_to(workspace)
    if home is not None and holds_home:
        hide.remove(home)
        hide += [home / name for name in SENSITIVE]
        read += [home / name for name in STARTUP]
    visible = {
        path
        for path in _existing(read)
        if (holds_home or not path.is_relative_to(workspace)) and not (home and home.is_relative_to(path))
    }
    secret = {path for path in _existing(hide) if path not in visible}
    roots = set(_existing(PRIVATE)) | ({home} if home and home in secret else set[Path]())
    return Profile(
        workspace=workspace,
        network=network,
        readable=tuple(sorted({*_below(visible, secret), *_existing(readable)})),
        writable=tuple(sorted(_existing(writable))),
        hidden=tuple(sorted(secret - roots)),
        private=tuple(sorted(roots)),
        protected=protected(workspace),
        temporary=temporary,
        limits=limits or Limits(),
    )


def _is_hidden_anyway(path: Path, rules: Mapping[Path, Access]) -> bool:
    above = next((rules[parent] for parent in path.parents if parent in rules), None)
    return rules[path] == "hide" and above in ("hide", "private")


def _home(environ: Mapping[str, str]) -> Path | None:
    try:
        home = Path(environ.get("HOME") or "~").expanduser()
        return home.resolve() if home.is_absolute() and home.is_dir() and len(home.parts) > 1 else None
    except (OSError, RuntimeError):  # there is none, or it is closed to us
        return None


def _of_interpreter() -> Iterator[str]:
    yield sys.prefix
    yield sys.base_prefix


def _of_environment(environ: Mapping[str, str]) -> Iterator[Path]:
    for name in TOOLCHAIN_VARIABLES:
        if environ.get(name):
            yield Path(environ[name])
    for entry in environ.get("PATH", "").split(os.pathsep):
        folder = Path(entry)
        if entry and folder.is_absolute():
            # A folder of programs takes its libraries from beside it; never from a home as a whole.
            yield folder.parent if _is_there(folder.parent / "pyvenv.cfg") else folder


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # closed to us
        return False


def _existing(paths: Iterable[str | Path]) -> Iterator[Path]:
    for path in paths:
        try:
            yield Path(path).resolve(strict=True)
        except (OSError, RuntimeError):
            continue


def _below(paths: Iterable[Path], tops: Iterable[Path]) -> Iterator[Path]:
    """Those of the paths that are in one of the folders; the others are readable anyway."""
    folders = tuple(tops)
    return (path for path in paths if any(path != top and path.is_relative_to(top) for top in folders))
