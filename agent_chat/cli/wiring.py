"""The one place where concrete classes meet: from settings and options to a session that can run."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent_chat import __version__
from agent_chat.cli import collector
from agent_chat.cli.choose_model import Choice, choose_model
from agent_chat.cli.instructions import find_instructions
from agent_chat.cli.load_settings import Loaded, load_settings
from agent_chat.cli.mcp_files import named_by
from agent_chat.cli.mcp_servers import MCP_PREFIX, open_servers, started, with_servers
from agent_chat.cli.options import SharedOptions
from agent_chat.cli.own_tools import joined, load_own_tools, names_allowed
from agent_chat.cli.policy import open_policy
from agent_chat.cli.secrets import masking, redactor
from agent_chat.cli.settings_layers import CONFIG_VARIABLE, Options
from agent_chat.cli.toolset import Ask, builtin_tools, offered, open_sandbox
from agent_chat.cli.undo import keep_own_changes
from agent_chat.core.errors import UserError
from agent_chat.core.events import Entry
from agent_chat.core.model import Query
from agent_chat.core.permissions import Nobody, Person, RulePolicy
from agent_chat.core.ports import Approver, ChatModel, EventSink
from agent_chat.engine.clock import SystemClock
from agent_chat.engine.journal import Journal
from agent_chat.engine.runtime import Runtime
from agent_chat.engine.session import Session, SessionInfo
from agent_chat.engine.sinks import InOrder
from agent_chat.sandbox.confinement import Sandbox
from agent_chat.sessions.store import MemorySessions, OpenLog, Sessions, open_sessions
from agent_chat.ui.shown import Verbosity

if TYPE_CHECKING:
    from agent_chat.cli.pull import Fetch
    from agent_chat.cli.skills import SkillTool
    from agent_chat.local.catalog import CatalogEntry
    from agent_chat.models.windows import Windows
    from agent_chat.sessions.recording import Recorder
    from agent_chat.tools.mcp.toolbox import McpToolbox
    from agent_chat.tools.tool import FunctionTool
    from agent_chat.tools.toolbox import NamedToolbox


async def nobody(question: str) -> str | None:
    """The `Ask` of scripts."""
    return None


def settings_for(options: SharedOptions) -> Loaded:
    """The settings under these options. Raises UserError."""
    return load_settings(
        Options(
            config=options.config,
            profile=options.profile,
            sets=tuple(options.set_ or ()),
            model=options.model,
            api_base=options.api_base,
            fallbacks=tuple(options.fallback or ()),
            system=options.system,
            tools=tuple(options.tool or ()),
            no_tools=options.no_tools,
            allow=tuple(options.allow or ()),
            deny=tuple(options.deny or ()),
            mode=options.mode.value if options.mode else None,
            max_iterations=options.max_iterations,
            max_tool_calls=options.max_tool_calls,
            max_tokens_total=options.max_tokens_total,
            max_cost=options.max_cost,
            max_time=options.max_time,
            no_session=options.no_session,
            color=options.color.value if options.color else None,
        ),
        workspace=workspace_of(options),
    )


def verbosity(options: SharedOptions) -> Verbosity:
    if options.quiet:
        return "quiet"
    return "verbose" if options.verbose else "normal"


def workspace_of(options: SharedOptions) -> Path:
    """The folder that tools may see, resolved. Raises UserError where it is none."""
    given = Path(options.workspace) if options.workspace else Path()
    try:
        path = given.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise UserError(
            f"The workspace {given} cannot be used: {error}", hint="Name a folder with --workspace."
        ) from error
    if not path.is_dir():
        raise UserError(f"The workspace {given} is not a folder.", hint="Name a folder with --workspace.")
    return path


class Models:
    """Makes models by name, under one configuration."""

    def __init__(self, loaded: Loaded, clock: SystemClock, fetch: Fetch) -> None:
        self._loaded = loaded
        self._clock = clock
        self._fetch = fetch
        self._windows: Windows | None = None

    async def main(self) -> tuple[ChatModel, Choice]:
        """The model that answers, and how it was chosen. Raises UserError."""
        from agent_chat.local.catalog import is_local

        choice = await choose_model(self._loaded)
        if is_local(choice.model):
            await _fetch_missing(choice.model, self._fetch)
        return self._build(choice.model, self._loaded.agent.fallbacks, choice.api_base), choice

    def named(self, name: str) -> ChatModel:
        """Another model. Raises UserError where there is none of this name."""
        return self._build(name, (), None)

    def is_embedded(self, choice: Choice) -> bool:
        """Whether it is this machine itself that answers, under whatever name."""
        from agent_chat.local.catalog import is_local

        deployments = self._loaded.model_config().deployments(choice.model)
        names = [str(deployment.litellm_params.get("model")) for deployment in deployments]
        return any(map(is_local, names or [choice.model]))

    def names(self) -> Sequence[str]:
        return self._loaded.model_config().names()

    def small(self) -> ChatModel | None:
        """The model for small jobs, where one is named. Raises UserError."""
        name = self._loaded.agent.roles.small
        return self._build(name, (), None) if name else None

    def window(self, name: str) -> int | None:
        """Tokens of input that a model takes; None where that is not known."""
        if self._windows is None:
            from agent_chat.models.windows import Windows

            self._windows = Windows(self._loaded.model_config())
        return self._windows.of(name)

    def _local(self, name: str) -> ChatModel:
        from agent_chat.models.local_model import LocalModel

        return LocalModel(name, self._fetch)

    def _build(self, name: str, fallbacks: Sequence[str], api_base: str | None) -> ChatModel:
        from agent_chat.models.build import build_model

        return build_model(
            self._loaded.model_config(),
            name,
            clock=self._clock,
            environ=self._loaded.environ,
            fallbacks=fallbacks,
            options=self._loaded.agent.to_request_options(),
            api_base=api_base,
            local_factory=self._local,
        )


async def pull_with_bar(entry: CatalogEntry) -> Path:
    """Fetches an embedded model; its progress is shown on stderr."""
    from agent_chat.cli.pull import pull_model

    return await pull_model(entry, sys.stderr)


async def _fetch_missing(model: str, fetch: Fetch) -> None:
    """Fetches the embedded model before anything else is shown. Where that fails the first turn tells."""
    from agent_chat.local.catalog import resolve
    from agent_chat.local.download import fetched
    from agent_chat.local.errors import LocalModelError

    with suppress(LocalModelError):
        entry = resolve(model)
        if not isinstance(entry, Path) and fetched(entry) is None:
            await fetch(entry)


@dataclass(slots=True)
class Opened:
    """A session that is ready for its first message."""

    session: Session
    sessions: Sessions
    log: OpenLog
    models: Models
    choice: Choice
    sandbox: Sandbox
    resumed: bool
    past: tuple[Entry, ...] = ()
    """Of a session that was resumed, what it held before."""
    servers: McpToolbox | None = None
    """MCP servers; None where there are none."""
    recorder: Recorder | None = None
    """Writes the recording, where one was asked for."""

    async def warm(self) -> None:
        """Prepares the model while the user types: loads what is heavy, reads the prefix."""
        runtime = self.session.runtime
        await asyncio.to_thread(runtime.window)
        await runtime.model.warm(Query(runtime.journal.messages(), runtime.toolbox.specs()))

    async def close(self) -> None:
        """Ends the servers; frees the model, the log and the database."""
        if self.servers is not None:
            await self.servers.close()
        runtime = self.session.runtime
        await runtime.model.close()
        if runtime.small is not None:
            await runtime.small.close()
        if self.recorder is not None:
            self.recorder.close()
        self.log.close()
        self.sessions.close()
        self.sandbox.close()


async def open_session(
    loaded: Loaded,
    options: SharedOptions,
    faces: Sequence[EventSink],
    ask: Ask,
    on_problem: Callable[[str], None],
    person: Person | None = None,
    *,
    fetch: Fetch = pull_with_bar,
    wait_for_servers: bool = True,
) -> Opened:
    """Opens a new session, or the one that the options name. Raises UserError; then nothing was begun.

    `person` approves what the rules leave to somebody; None where nobody can be asked. `fetch` gets
    an embedded model that is missing. `wait_for_servers`:
    until every MCP server is ready or has failed; else their tools join when they are.
    """
    redact = redactor(loaded)
    on_problem = masking(on_problem, redact)
    workspace = workspace_of(options)
    clock = SystemClock()
    models = Models(loaded, clock, fetch)
    sessions = open_sessions(on_problem) if loaded.agent.session.keep else MemorySessions()
    past = _past(sessions, options, workspace)
    own = await load_own_tools(options.tools_from, options.config, loaded, workspace, on_problem)
    model, choice = await models.main()
    sandbox = open_sandbox(loaded, workspace)

    def vouches(name: str) -> bool:
        return servers is not None and servers.vouches(name)

    policy = open_policy(
        loaded,
        workspace,
        person or Nobody(loaded.agent.permissions.on_denied),
        sandboxed=loaded.agent.permissions.mode == "auto" and sandbox.confinement.kind != "none",
        on_problem=on_problem,
        vouches=vouches,
    )
    files = named_by(options.mcp_config, options.config, loaded, workspace)
    servers = open_servers(files, loaded, policy.hides, on_problem)
    approver: Approver
    program = builtin_tools(
        workspace, sandbox, ask, sessions.results, sessions.contents, clock, loaded, policy.judge
    )
    toolbox = allowed_tools(joined(program, own, on_problem), own, loaded, policy)
    skills = _skills(toolbox, own)
    toolbox, approver = with_servers(toolbox, servers), policy
    if options.dry_run:
        from agent_chat.tools.dry_run import DryRun, NothingToApprove

        toolbox, approver = DryRun(toolbox, vouches), NothingToApprove(policy)
    log, entries = sessions.resume(past) if past else (sessions.create(clock.now()), ())
    recorder = _recorder(options, entries)
    others = faces if recorder is None else (recorder, *faces)
    sink = InOrder(log, *others, on_problem=on_problem)
    runtime = Runtime(
        model=model,
        toolbox=toolbox,
        approver=approver,
        results=sessions.results,
        clock=clock,
        rules=loaded.agent.to_rules(),
        journal=Journal(log.session_id, sink, clock, redact),
        small=models.small(),
        window_of=models.window,
    )
    session = Session(runtime)
    async with started(servers, wait=wait_for_servers):
        if past:
            system = options.system
            if system is not None:  # else what the session began with stays
                system = _instructed(system, models.is_embedded(choice), options, loaded, skills, on_problem)
            await session.resume(entries, __version__, system, dry_run=options.dry_run)
            keep_own_changes(runtime.journal.state, sessions.origin(past))
        else:
            embedded = models.is_embedded(choice)
            system = loaded.system_prompt(embedded=embedded)
            system = _instructed(system, embedded, options, loaded, skills, on_problem)
            await session.start(SessionInfo(__version__, str(workspace), system, options.dry_run))
    collector.resume()  # all that a session needs is loaded
    return Opened(session, sessions, log, models, choice, sandbox, bool(past), entries, servers, recorder)


def _skills(toolbox: NamedToolbox, own: Sequence[FunctionTool]) -> SkillTool | None:
    """What reads skills, where there are some and the model may call it."""
    from agent_chat.cli.skills import SkillTool

    return next(
        (tool for tool in own if isinstance(tool, SkillTool) and toolbox.get(tool.name) is tool), None
    )


def _instructed(
    system: str,
    embedded: bool,
    options: SharedOptions,
    loaded: Loaded,
    skills: SkillTool | None,
    on_problem: Callable[[str], None],
) -> str:
    """The system prompt with the instructions of files behind it; `--config` has nothing else read."""
    only_given = options.config or loaded.environ.get(CONFIG_VARIABLE, "").strip()
    if only_given or not loaded.agent.instructions:
        return system
    found = find_instructions(workspace_of(options), loaded.environ)
    for problem in found.problems:
        on_problem(problem)
    system = found.appended_to(system, embedded=embedded)
    return system if skills is None else skills.appended_to(system, embedded=embedded)


def _recorder(options: SharedOptions, past: tuple[Entry, ...]) -> Recorder | None:
    """What writes the recording that the options ask for. Raises UserError where it cannot be written."""
    if options.record is None:
        return None
    from agent_chat.sessions.recording import Recorder

    return Recorder(Path(options.record), past)


def _past(sessions: Sessions, options: SharedOptions, workspace: Path) -> str | None:
    if options.resume:
        return sessions.resolve(options.resume)
    if not options.continue_:
        return None
    latest = sessions.latest(str(workspace))
    if latest is None:
        raise UserError(
            f"There is no session of {workspace} to go on with.", hint="Leave out --continue to begin one."
        )
    return latest


def allowed_tools(
    toolbox: NamedToolbox, own: Sequence[FunctionTool], loaded: Loaded, policy: RulePolicy
) -> NamedToolbox:
    """The tools that the settings name and the user's own, without those that no rule lets run."""
    from agent_chat.tools.toolbox import Allowed

    try:
        names = [name for name in offered(loaded, toolbox) if not name.startswith(MCP_PREFIX)]
        named = Allowed(toolbox, (*names, *names_allowed(loaded, toolbox, own)))
    except ValueError as error:
        source = loaded.source("agent", "tools", "allow")
        raise UserError(f"{source}: {error}", hint="`agent-chat tools list` lists them.") from error
    return Allowed(named, (name for name in named.names if not policy.hides(name)))
