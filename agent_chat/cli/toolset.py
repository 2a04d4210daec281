"""The tools that the program brings, and the sandbox that commands run in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from agent_chat.cli.load_settings import Loaded
from agent_chat.core.approval import ApprovalRequest, Verdict
from agent_chat.core.errors import UserError
from agent_chat.core.ports import Clock, ContentStore, ResultStore, Tool
from agent_chat.sandbox.confinement import Sandbox, SandboxUnavailable, choose
from agent_chat.sandbox.environment import tool_environment
from agent_chat.sandbox.profile import standard_profile

if TYPE_CHECKING:
    from agent_chat.tools.toolbox import NamedToolbox

Ask = Callable[[str], Awaitable[str | None]]
"""Puts a question of the model's to the user; None where nobody can be asked."""


def open_sandbox(loaded: Loaded, workspace: Path) -> Sandbox:
    """What commands run in. Raises UserError where the confinement of the settings is not to be had."""
    settings = loaded.agent.sandbox
    profile = standard_profile(
        workspace, loaded.environ, network=settings.network, hidden=own_folders(loaded)
    )
    if settings.confinement == "auto":
        return Sandbox(profile)  # chosen when it is first needed
    try:
        return Sandbox(profile, choose(settings.confinement))
    except SandboxUnavailable as error:
        source = loaded.source("agent", "sandbox", "confinement")
        raise UserError(f"{source}: {error}", hint="auto takes the best that works here.") from error


def builtin_tools(
    workspace: Path,
    sandbox: Sandbox,
    ask: Ask,
    results: ResultStore,
    contents: ContentStore,
    clock: Clock,
    loaded: Loaded,
    judge: Callable[[ApprovalRequest], Verdict],
) -> NamedToolbox:
    """Every tool that the program brings, before the allow-list. `contents` keeps what changed files held;
    `judge` says what the rules think of a call."""
    from agent_chat.tools.builtin.calc import calc_tools
    from agent_chat.tools.builtin.chat import chat_tools
    from agent_chat.tools.builtin.clock import clock_tools
    from agent_chat.tools.builtin.edit import edit_tools
    from agent_chat.tools.builtin.files import file_tools
    from agent_chat.tools.builtin.results import result_tools
    from agent_chat.tools.builtin.search import search_tools
    from agent_chat.tools.builtin.shell import shell_tool
    from agent_chat.tools.seen import SeenFiles
    from agent_chat.tools.toolbox import ToolRegistry
    from agent_chat.tools.workspace import Workspace

    space, seen = Workspace(workspace), SeenFiles()
    return ToolRegistry(
        (
            *clock_tools(clock),
            *calc_tools(),
            *file_tools(space, seen),
            *search_tools(space),
            *edit_tools(space, contents, seen),
            shell_tool(space, sandbox, _environment(loaded)),
            *_web_tools(loaded, judge),
            *result_tools(results),
            *chat_tools(ask),
        )
    )


def _web_tools(loaded: Loaded, judge: Callable[[ApprovalRequest], Verdict]) -> Iterator[Tool]:
    """`fetch_url`, and `web_search` where somebody searches."""
    from agent_chat.tools.builtin.web import fetch_tool, search_tool
    from agent_chat.tools.web.searching import choose_provider

    settings = loaded.agent.tools.web

    def judge_url(url: str) -> Verdict:
        return judge(ApprovalRequest("", "fetch_url", {"url": url}, "network"))

    yield fetch_tool(judge_url, allow_private=settings.allow_private, environ=loaded.environ)
    provider = choose_provider(settings.search, settings.search_url, loaded.environ)
    if provider is not None:
        yield search_tool(provider)


def offered(loaded: Loaded, toolbox: NamedToolbox) -> tuple[str, ...]:
    """The names that the settings allow, without `web_search` where nobody searches. Raises UserError where
    an option asks for it by name."""
    names = loaded.agent.tools.allow
    if "web_search" not in names or toolbox.exists("web_search"):
        return names
    source = loaded.source("agent", "tools", "allow")
    if source.kind == "option":
        raise UserError(
            f"{source}: web_search needs somebody who searches.",
            hint="Set BRAVE_API_KEY or TAVILY_API_KEY, or tools.web.search_url to a SearXNG server.",
        )
    return tuple(name for name in names if name != "web_search")


def _environment(loaded: Loaded) -> dict[str, str]:
    """What commands find in their environment: not the keys of the models."""
    from agent_chat.models.catalog import providers

    keys = [variable for provider in providers().values() for variable in provider.keys]
    return tool_environment(loaded.environ, pass_env=loaded.agent.sandbox.pass_env, secrets=keys)


def own_folders(loaded: Loaded) -> list[Path]:
    """Where sessions and settings are kept: nothing that a command should see."""
    from agent_chat.cli.trust import NoHome, user_config_folder
    from agent_chat.sessions.folder import NoFolder, state_folder

    found: list[Path] = []
    try:
        found.append(state_folder())
        found.append(user_config_folder(loaded.environ))
    except (NoFolder, NoHome):
        pass
    return found
