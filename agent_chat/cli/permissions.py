"""`agent-chat permissions`: which rules there are, and which of them decides of a call."""

# Typer evaluates the annotations of a command: they stay real types here.
import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_chat.cli.options import ModeChoice

if TYPE_CHECKING:
    from agent_chat.core.judging import Judgment
    from agent_chat.core.permissions import RulePolicy
    from agent_chat.core.rules import Rule

app = typer.Typer(help="Show what may run, and why.", no_args_is_help=True)

SCHEMA_VERSION = 1


class PermissionsFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


class EffectChoice(StrEnum):
    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"


Output = Annotated[PermissionsFormat, typer.Option("--output", help="How to print it.")]
Allow = Annotated[list[str] | None, typer.Option("--allow", metavar="RULE", help="As if it were given.")]
Deny = Annotated[list[str] | None, typer.Option("--deny", metavar="RULE", help="As if it were given.")]
ModeOption = Annotated[ModeChoice | None, typer.Option("--mode", help="As if it were given.")]
Config = Annotated[
    str | None, typer.Option("--config", metavar="FILE", help="Read this configuration and no other.")
]
Workspace = Annotated[str, typer.Option("--workspace", metavar="DIR", help="The folder that tools may see.")]


@app.command()
def explain(
    call: Annotated[
        str, typer.Argument(metavar="CALL", help="A call, such as 'shell(git status)', 'read_file(a.txt)'.")
    ],
    allow: Allow = None,
    deny: Deny = None,
    mode: ModeOption = None,
    sandboxed: Annotated[bool, typer.Option("--sandboxed", help="As if a sandbox held commands.")] = False,
    effect: Annotated[
        EffectChoice | None, typer.Option("--effect", help="The effect of a tool that is not built in.")
    ] = None,
    config: Config = None,
    workspace: Workspace = ".",
    output: Output = PermissionsFormat.TEXT,
) -> None:
    """Tell what would happen with a call, which rule decides, and why, part by part. Runs nothing."""
    from agent_chat.cli.permission_calls import parse_call
    from agent_chat.cli.policy import resolver
    from agent_chat.core.suggestions import suggest_rule

    policy, folder = _policy(allow, deny, mode, config, workspace, sandboxed=sandboxed)
    request = parse_call(call, effect.value if effect else None)
    judgment = policy.explain(request)
    proposed = suggest_rule(request, resolver(folder)) if judgment.verdict == "ask" else None
    if judgment.rule is not None:
        proposed = None
    if output is PermissionsFormat.JSON:
        shown = {"call": call, "mode": policy.mode, "suggestion": proposed, **_judgment_json(judgment)}
        _print_json({"schema_version": SCHEMA_VERSION, **shown})
        return
    for line in _explained(judgment, proposed):
        typer.echo(_visible(line))


@app.command(name="list")
def list_rules(
    allow: Allow = None,
    deny: Deny = None,
    mode: ModeOption = None,
    config: Config = None,
    workspace: Workspace = ".",
    output: Output = PermissionsFormat.TEXT,
) -> None:
    """List the rules in force and where each comes from; the mode decides what they leave open."""
    policy, _ = _policy(allow, deny, mode, config, workspace, sandboxed=False)
    order = ("deny", "ask", "allow")
    rules = sorted(policy.rules, key=lambda rule: order.index(rule.verdict))
    if output is PermissionsFormat.JSON:
        shown = [_rule_json(rule) for rule in rules]
        _print_json({"schema_version": SCHEMA_VERSION, "mode": policy.mode, "rules": shown})
        return
    width = max((len(rule.text) for rule in rules), default=0)
    for rule in rules:
        typer.echo(_visible(f"{rule.verdict:<5}  {rule.text:<{min(width, 48)}}  {rule.where}"))
    typer.echo(f"mode   {policy.mode}")


def _policy(
    allow: list[str] | None,
    deny: list[str] | None,
    mode: ModeChoice | None,
    config: str | None,
    workspace: str,
    *,
    sandboxed: bool,
) -> "tuple[RulePolicy, Any]":
    from pathlib import Path

    from agent_chat.cli.load_settings import Options, load_settings
    from agent_chat.cli.policy import open_policy
    from agent_chat.core.errors import UserError
    from agent_chat.core.permissions import Nobody

    try:
        folder = Path(workspace).resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise UserError(
            f"The workspace {workspace} cannot be used: {error}", hint="Name a folder with --workspace."
        ) from error
    options = Options(
        config=config, allow=tuple(allow or ()), deny=tuple(deny or ()), mode=mode.value if mode else None
    )
    loaded = load_settings(options, workspace=folder)
    for warning in loaded.warnings:
        _say(warning)
    return open_policy(loaded, folder, Nobody(), sandboxed=sandboxed, on_problem=_say), folder


def _explained(judgment: "Judgment", proposed: str | None) -> list[str]:
    lines = [f"{judgment.verdict}: {judgment.why}"]
    if judgment.rule is not None:
        lines.append(f"  rule: {judgment.rule}  ({judgment.rule.where})")
    if judgment.parts:
        lines.append("  it runs:")
    for part in judgment.parts:
        via = f"  (in {part.via})" if part.via else ""
        by = f"  ← {part.rule}" if part.rule is not None else ""
        lines.append(f"    {part.text}{via}{by}")
        lines += [f"      {note}" for note in part.notes]
    if judgment.verdict != "allow":
        lines += [f"  not allowed by {rule.text}: {why}" for rule, why in judgment.passed]
    if proposed is not None:
        lines.append(f"  to allow it: --allow '{proposed}'")
    return lines


def _judgment_json(judgment: "Judgment") -> dict[str, Any]:
    return {
        "verdict": judgment.verdict,
        "why": judgment.why,
        "rule": _rule_json(judgment.rule) if judgment.rule is not None else None,
        "parts": [
            {
                "text": part.text,
                "via": part.via or None,
                "rule": _rule_json(part.rule) if part.rule is not None else None,
                "notes": list(part.notes),
            }
            for part in judgment.parts
        ],
        "not_allowed_by": [{"rule": _rule_json(rule), "why": why} for rule, why in judgment.passed],
    }


def _rule_json(rule: "Rule") -> dict[str, str | None]:
    return {"verdict": rule.verdict, "rule": rule.text, "source": rule.source, "place": rule.place or None}


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def _visible(text: str) -> str:
    from agent_chat.ui.sanitize import visible

    return visible(text)


def _say(text: str) -> None:
    typer.echo(_visible(text), err=True)
