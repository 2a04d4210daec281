"""From settings to the policy that decides what may run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from agent_chat.cli.load_settings import Loaded
from agent_chat.cli.remembered import RememberedRules
from agent_chat.cli.settings_tree import Source
from agent_chat.cli.trust import NoHome, user_config_folder
from agent_chat.core.errors import UserError
from agent_chat.core.modes import vouch_for_none
from agent_chat.core.permissions import Person, RulePolicy
from agent_chat.core.rules import VERDICTS, Resolve, Rule, RuleSource, parse_rule

_SOURCES: dict[str, RuleSource] = {
    "built in": "shipped",
    "shipped": "shipped",
    "user": "user",
    "project": "project",
    "file": "user",
    "environment": "user",
    "option": "command line",
}


def open_policy(
    loaded: Loaded,
    workspace: Path,
    person: Person,
    *,
    sandboxed: bool,
    on_problem: Callable[[str], None],
    vouches: Callable[[str], bool] = vouch_for_none,
) -> RulePolicy:
    """The policy under these settings. `sandboxed`: whether commands run in a sandbox; `vouches`: whether the
    user believes what a tool of somebody else's says of its effect. Raises UserError."""
    settings = loaded.agent.permissions
    remembered = remembered_rules(loaded)

    def remember(rule: str) -> None:
        if remembered is None:
            on_problem(f"The rule {rule} holds for this session only: there is no folder to keep it in.")
            return
        try:
            remembered.add(rule)
        except UserError as error:
            on_problem(f"The rule {rule} holds for this session only: {error.message}")

    return RulePolicy(
        rules_of(loaded, remembered),
        person=person,
        resolve=resolver(workspace),
        mode=settings.mode,
        sandboxed=sandboxed,
        on_denied=settings.on_denied,
        remember=remember,
        vouches=vouches,
    )


def rules_of(loaded: Loaded, remembered: RememberedRules | None) -> tuple[Rule, ...]:
    """Every rule in force with its source. Raises UserError where a remembered one cannot be read."""
    return (*_written(loaded), *(remembered.rules() if remembered is not None else ()))


def remembered_rules(loaded: Loaded) -> RememberedRules | None:
    """What the user allowed for always; None where there is no folder for it."""
    try:
        return RememberedRules(user_config_folder(loaded.environ))
    except NoHome:
        return None


def resolver(workspace: Path) -> Resolve:
    """Tells paths inside the workspace from those outside, links followed."""

    def resolve(path: str) -> str | None:
        from agent_chat.tools.errors import ToolError
        from agent_chat.tools.workspace import Workspace

        try:
            space = Workspace(workspace)
            return space.show(space.resolve(path))
        except ToolError:
            return None

    return resolve


def _written(loaded: Loaded) -> Iterator[Rule]:
    for verdict in VERDICTS:
        texts: tuple[str, ...] = getattr(loaded.agent.permissions, verdict)
        for index, text in enumerate(texts):
            source = loaded.source("agent", "permissions", verdict, index)
            yield parse_rule(text, verdict, _SOURCES[source.kind], _place(source))


def _place(source: Source) -> str:
    return "" if source.kind == "shipped" else str(source)
