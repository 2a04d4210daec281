"""How a server is started or reached: its environment, its sandbox, its address."""

from __future__ import annotations

import hashlib
import shlex
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent_chat.core.redaction import redact
from agent_chat.sandbox.confinement import (
    Confinement,
    Sandbox,
    SandboxUnavailable,
    Wanted,
    Wrapped,
    choose,
    wrap,
)
from agent_chat.sandbox.environment import tool_environment
from agent_chat.sandbox.profile import standard_profile
from agent_chat.tools.mcp.config import Http, ServerConfig, Stdio, resolved
from agent_chat.tools.mcp.failures import ServerFailed
from agent_chat.tools.mcp.http import HttpTransport
from agent_chat.tools.mcp.stdio import StdioTransport
from agent_chat.tools.mcp.transport import Transport


class Launch(Protocol):
    """What a server is connected by, as often as that is needed."""

    @property
    def is_confined(self) -> bool:
        """Whether a sandbox holds it; known once it was started."""
        ...

    def describe(self) -> str:
        """What is started or reached, and what holds it, for people."""
        ...

    def transport(self) -> Transport:
        """A new connection."""
        ...

    def close(self) -> None:
        """When nothing of it runs any more."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What servers that are programs are started in."""

    workspace: Path
    environ: Mapping[str, str]
    secrets: Collection[str] = ()
    """Names of variables that hold models' keys, whatever they look like."""
    cache: Path | None = None
    """A folder for what programs fetch, kept from one session to the next; None for none."""
    pass_env: Collection[str] = ()
    """Names of variables that pass although they look like secrets."""
    hidden: Collection[Path] = ()
    """Folders that no sandbox shows."""
    confinement: Wanted = "auto"


def launch(config: ServerConfig, surroundings: Surroundings) -> Launch:
    match config.transport:
        case Http() as http:
            return _Address(http)
        case Stdio() as stdio:
            return _Program(config, stdio, surroundings)


class _Address:
    def __init__(self, config: Http) -> None:
        self._config = config
        self.is_confined = False

    def describe(self) -> str:
        scheme, _, rest = self._config.url.partition("?")[0].partition("://")
        host, slash, path = rest.partition("/")
        return redact(f"{scheme}://{host.rpartition('@')[2]}{slash}{path}")

    def transport(self) -> Transport:
        return HttpTransport(self._config)

    def close(self) -> None:
        return


class _Program:
    def __init__(self, config: ServerConfig, stdio: Stdio, surroundings: Surroundings) -> None:
        self._config = config
        self._stdio = stdio
        self._around = surroundings
        self._sandbox: Sandbox | None = None
        self._cwd = resolved(stdio.cwd, surroundings.workspace) if stdio.cwd else surroundings.workspace

    @property
    def is_confined(self) -> bool:
        return self._sandbox is not None and self._sandbox.confinement.kind != "none"

    def describe(self) -> str:
        command = redact(shlex.join((self._stdio.command, *self._stdio.args)))
        if self._sandbox is not None:
            return f"{command} ({self._sandbox.describe()})"
        return f"{command} (no sandbox)" if self._config.sandbox is None else command

    def transport(self) -> Transport:
        return StdioTransport(self._command, self._cwd)

    def close(self) -> None:
        if self._sandbox is not None:
            self._sandbox.close()

    def _command(self) -> Wrapped:
        env = self._environment() | dict(self._stdio.env)
        argv = (self._found(env), *self._stdio.args)
        if not self._cwd.is_dir():
            raise ServerFailed(f"its cwd {self._cwd} is not a folder")
        if self._config.sandbox is None:
            profile = standard_profile(self._around.workspace, self._around.environ)
            return wrap(argv, profile, env=env, confinement=Confinement("none", "turned off"), cwd=self._cwd)
        sandbox = self._open_sandbox()
        if sandbox.confinement.kind == "none" and self._config.origin == "project":
            raise ServerFailed(
                "not started: a project's server runs only in a sandbox, and there is none here "
                f"({sandbox.confinement.reason})"
            )
        return sandbox.wrap(argv, env=self._with_caches(env), cwd=self._cwd)

    def _environment(self) -> dict[str, str]:
        around = self._around
        return tool_environment(around.environ, pass_env=around.pass_env, secrets=around.secrets)

    def _found(self, env: Mapping[str, str]) -> str:
        command = str(Path(self._stdio.command).expanduser())
        if "/" in command:
            path = resolved(command, self._cwd)
            if not path.is_file():
                raise ServerFailed(f"there is no file {path}")
            return str(path)
        found = shutil.which(command, path=env.get("PATH"))
        if found is None:
            raise ServerFailed(f"there is no command {command!r} on the PATH")
        return found

    def _open_sandbox(self) -> Sandbox:
        confined = self._config.sandbox
        if self._sandbox is None and confined is not None:
            home = self._around.workspace
            cache = self._cache_folder()
            profile = standard_profile(
                self._around.workspace,
                self._around.environ,
                network=confined.network,
                hidden=self._around.hidden,
                readable=[resolved(path, home) for path in confined.readable],
                writable=[
                    *(resolved(path, home) for path in confined.writable),
                    *([] if cache is None else [cache]),
                ],
            )
            self._sandbox = Sandbox(profile, _choose(self._around.confinement))
        assert self._sandbox is not None
        return self._sandbox

    def _with_caches(self, env: Mapping[str, str]) -> dict[str, str]:
        """Where package runners keep what they fetched: not in the home, of which the server sees nothing."""
        cache = self._cache_folder()
        if cache is None:
            return dict(env)
        folders = {"XDG_CACHE_HOME": cache, "npm_config_cache": cache / "npm", "UV_CACHE_DIR": cache / "uv"}
        return {**{name: str(path) for name, path in folders.items()}, **env}

    def _cache_folder(self) -> Path | None:
        """One for each server: what one fetched must not become what another runs."""
        if self._around.cache is None:
            return None
        identity = "\0".join((str(self._around.workspace), self._config.name, self._stdio.command))
        folder = self._around.cache / hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:16]
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            return None
        return folder


def _choose(wanted: Wanted) -> Confinement:
    try:
        return choose(wanted)
    except SandboxUnavailable as error:
        raise ServerFailed(str(error)) from error
