"""Puts the settings together: options over environment over project over user over what is shipped."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from agent_chat.cli.settings import AgentSettings, Settings
from agent_chat.cli.settings_check import SHOWN, check
from agent_chat.cli.settings_fields import TOP_LEVEL, nearest
from agent_chat.cli.settings_file import Mistake, Parsed
from agent_chat.cli.settings_include import read_with_includes
from agent_chat.cli.settings_layers import (
    CONFIG_VARIABLE,
    PROFILE_VARIABLE,
    Options,
    environment_layer,
    option_layer,
)
from agent_chat.cli.settings_normal import normal, over
from agent_chat.cli.settings_project import check_project, narrowed
from agent_chat.cli.settings_tree import BUILT_IN, Node, Source, SourceKind, mapping
from agent_chat.cli.shipped import default_settings_file, default_system_prompt
from agent_chat.cli.trust import PROJECT_FILE, NoHome, TrustedFolders, find_project, user_config_folder
from agent_chat.core.errors import UserError

if TYPE_CHECKING:
    from agent_chat.models.deployments import ModelConfig

FILE_NAME = "config.yaml"


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings, and how they came about."""

    settings: Settings
    tree: Node
    """What was written down, with sources; what is not in it is built in."""
    files: tuple[Path, ...]
    """The files that were read, the strongest first."""
    warnings: tuple[str, ...]
    """One line each, for stderr."""
    environ: Mapping[str, str]
    """The environment, with `environment_variables` of the configuration in it."""

    @property
    def agent(self) -> AgentSettings:
        return self.settings.agent

    @property
    def litellm(self) -> Mapping[str, Any]:
        """LiteLLM's part as it was written: everything but `agent`."""
        plain = self.tree.plain()
        return {key: value for key, value in plain.items() if key != "agent"}

    def model_config(self) -> ModelConfig:
        """LiteLLM's part as the models read it. Raises UserError."""
        from agent_chat.models.deployments import ModelConfig

        return ModelConfig.parse(self.litellm)

    def source(self, *path: str | int) -> Source:
        """Where the value at a path such as `"agent", "roles", "main"` comes from."""
        written = self.tree.written(path)
        return written if written is not None else BUILT_IN

    def system_prompt(self, *, embedded: bool = False) -> str:
        """The system prompt as text; where none is set, the shipped one, which is another for an embedded
        model. Raises UserError where its file cannot be read."""
        if self.agent.system is not None:
            return self.agent.system
        if self.agent.system_file is None:
            return default_system_prompt(embedded=embedded)
        return _read_prompt(Path(self.agent.system_file), self.source("agent", "system_file"))


def load_settings(
    options: Options | None = None,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    workspace: Path | None = None,
) -> Loaded:
    """Reads and checks everything. Raises UserError that names every mistake with its place.

    Relative paths in options and variables start at `cwd`; the project is the one of `workspace`, an absolute
    path (default: `cwd`).
    """
    options = options or Options()
    environ = os.environ if environ is None else environ
    cwd = cwd or working_folder()
    return _Loader(options, environ, cwd, workspace or cwd).load()


def working_folder() -> Path:
    """Where the program was started. Raises UserError where that folder is gone."""
    try:
        return Path.cwd()
    except OSError as error:
        raise UserError(
            f"The working folder cannot be used: {error.strerror or error}.", hint="Go to another one (cd)."
        ) from error


class _Loader:
    def __init__(self, options: Options, environ: Mapping[str, str], cwd: Path, workspace: Path) -> None:
        self._options = options
        self._environ = environ
        self._cwd = cwd
        self._workspace = workspace
        self._mistakes: list[Mistake] = []
        self._warnings: list[str] = []
        self._files: list[Path] = []

    def load(self) -> Loaded:
        tree = self._read(default_settings_file(), "shipped")
        chosen = self._options.config or self._environ.get(CONFIG_VARIABLE, "").strip()
        tree = over(tree, self._read_chosen(chosen)) if chosen else self._read_usual(tree)
        environment, mistakes, warnings = environment_layer(self._environ)
        self._mistakes += mistakes
        self._warnings += warnings
        given, mistakes = option_layer(self._options)
        self._mistakes += mistakes
        layers = [self._checked(layer, self._cwd) for layer in (environment, given)]
        tree = reduce(over, layers, self._with_profile(tree))
        if self._mistakes:
            raise _error(self._mistakes)
        return Loaded(
            settings=_settings(tree),
            tree=tree,
            files=tuple(reversed(self._files)),
            warnings=tuple(self._warnings),
            environ=_environ(self._environ, tree),
        )

    def _read_chosen(self, name: str) -> Node:
        path = Path(os.path.expanduser(name))
        path = path if path.is_absolute() else self._cwd / path
        try:
            return self._read(path, "file")
        except (FileNotFoundError, NotADirectoryError) as error:
            option = "--config" if self._options.config else CONFIG_VARIABLE
            raise UserError(
                f"{path}: there is no such file ({option}).", hint="Check the path; `ls` shows what is there."
            ) from error

    def _read_usual(self, tree: Node) -> Node:
        try:
            folder = user_config_folder(self._environ)
        except NoHome:
            return tree
        user = folder / FILE_NAME
        try:
            # Where the folder itself is closed to us there is no configuration; a file that is there
            # and cannot be read is a mistake.
            os.stat(user)
            tree = over(tree, self._read(user, "user"))
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            self._warnings.append(f"{folder} cannot be read ({error.strerror}): going on without it")
        return self._read_project(tree, folder)

    def _read_project(self, tree: Node, config_folder: Path) -> Node:
        project = find_project(self._workspace)
        if project is None:
            return tree
        path = project / PROJECT_FILE
        if not TrustedFolders(config_folder).contains(project):
            self._warnings.append(
                f"{path} is ignored: you have not trusted this folder. Read it, then run"
                f" `agent-chat config trust {_quoted(project)}`"
            )
            return tree
        before = len(self._mistakes)
        node = self._read(path, "project")
        self._mistakes += check_project(node, project)
        if len(self._mistakes) > before:
            return tree
        narrow, warnings = narrowed(tree, node)
        self._warnings += warnings
        return narrow if node.child("agent") is None else over(tree, narrow)

    def _read(self, path: Path, kind: SourceKind) -> Node:
        parsed: Parsed = read_with_includes(path, kind)
        self._files.append(path)
        self._mistakes += parsed.mistakes
        self._warnings += parsed.warnings
        return self._checked(parsed.root, path.parent)

    def _checked(self, root: Node, base: Path) -> Node:
        tree, mistakes = normal(root, base)
        found, warnings = check(tree)
        self._mistakes += mistakes + found
        self._warnings += warnings
        return tree if isinstance(tree.value, dict) else mapping()

    def _with_profile(self, tree: Node) -> Node:
        name = self._options.profile or self._environ.get(PROFILE_VARIABLE, "").strip()
        if not name:
            return tree
        agent = tree.child("agent")
        profiles = agent.child("profiles") if agent is not None else None
        known = profiles.value if profiles is not None and isinstance(profiles.value, dict) else {}
        profile = known.get(name)
        if profile is None:
            origin = Source("option", "--profile" if self._options.profile else PROFILE_VARIABLE)
            near = nearest(name, known)
            hint = f" Did you mean '{near}'?" if near else f" There are: {', '.join(known) or 'none'}."
            self._mistakes.append(Mistake(origin, f"there is no profile '{name}'.{hint}"))
            return tree
        return over(tree, Node({"agent": _in_profile(profile, name)}, profile.source))


def _in_profile(node: Node, name: str) -> Node:
    source = Source(node.source.kind, node.source.name, node.source.line, node.source.column, name)
    if isinstance(node.value, dict):
        return Node({key: _in_profile(item, name) for key, item in node.value.items()}, source)
    return Node(node.value, source)


def _settings(tree: Node) -> Settings:
    known = {key: value for key, value in tree.plain().items() if key in TOP_LEVEL}
    try:
        return Settings.model_validate(known)
    except ValidationError as error:  # what only layers together get wrong
        raise UserError(f"The configuration is not right: {error}") from error


def _error(mistakes: Sequence[Mistake]) -> UserError:
    lines = [str(mistake) for mistake in dict.fromkeys(mistakes)]
    hint = "`agent-chat config keys` lists every setting. Nothing was sent."
    if len(lines) == 1:
        return UserError(lines[0], hint=hint)
    more = f"\n  … and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
    shown = "".join(f"\n  {line}" for line in lines[:SHOWN])
    return UserError(f"{len(lines)} mistakes in the configuration:{shown}{more}", hint=hint)


def _environ(environ: Mapping[str, str], tree: Node) -> Mapping[str, str]:
    node = tree.child("environment_variables")
    if node is None or not isinstance(node.value, dict) or not node.value:
        return environ
    result = dict(environ)
    for name, item in node.value.items():
        value = "" if item.value is None else str(item.value)
        if value.startswith("os.environ/"):
            value = environ.get(value.removeprefix("os.environ/"), "")
        if value:
            result[name] = value
    return result


def _read_prompt(path: Path, source: Source) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(
            f"{source.exact}: the system prompt {path} cannot be read: {error.strerror or error}",
            hint="Name a text file with agent.system_file, or write the text with agent.system.",
        ) from error
    return data.decode("utf-8-sig", errors="replace").strip()


def _quoted(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))
