"""The judgment of a call: rules first (deny beats ask beats allow, whoever wrote them), then the mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_chat.core.approval import ApprovalRequest
from agent_chat.core.modes import Setting, by_mode
from agent_chat.core.rules import SUBJECTS, Resolve, Rule, RuleVerdict
from agent_chat.core.shell.line import Command, ShellLine


@dataclass(frozen=True, slots=True)
class Part:
    """A command inside a command line, and what the rules say of it alone."""

    text: str
    via: str
    rule: Rule | None
    """The rule that asks or denies because of it."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgment:
    """What is decided of a call, by what, and why."""

    verdict: RuleVerdict
    why: str
    rule: Rule | None = None
    """None where no rule decided, but the mode."""
    parts: tuple[Part, ...] = ()
    """Of a command line: everything that it would run."""
    passed: tuple[tuple[Rule, str], ...] = ()
    """Rules that might have allowed it, each with why it did not."""


def judge(request: ApprovalRequest, rules: Sequence[Rule], setting: Setting, resolve: Resolve) -> Judgment:
    """Decides. Quick, and free of effects but for `resolve`."""
    kind, name = SUBJECTS.get(request.name, ("argument", ""))
    named = [rule for rule in rules if rule.names(request.name)]
    if kind == "command":
        # The tables of what runs what are loaded when the first command comes.
        from agent_chat.core.shell.reader import read_line

        found = _judge_line(read_line(str(request.arguments.get(name) or "")), named)
        inside = True
    else:
        fitting = [rule for rule in named if rule.fits(request.name, request.arguments, resolve)]
        found = _strongest(fitting) or Judgment("allow", "")
        inside = kind == "path" and resolve(str(request.arguments.get(name) or ".")) is not None
    if found.verdict == "deny" or (found.verdict == "ask" and found.rule is not None):
        return _under_mode(found, request, setting) if found.verdict == "ask" else found
    mode = by_mode(setting, request.effect, inside=inside, vouched=_is_vouched(request, setting))
    if mode.verdict == "deny":
        return replace(found, verdict="deny", why=mode.why, rule=None)
    if found.verdict == "ask" or (found.verdict == "allow" and found.rule is not None):
        return found
    return replace(found, verdict=mode.verdict, why=mode.why)


def _is_vouched(request: ApprovalRequest, setting: Setting) -> bool:
    """Whether somebody whom the user believes says what effect the call has."""
    return not request.name.startswith("mcp__") or setting.vouches(request.name)


def _under_mode(found: Judgment, request: ApprovalRequest, setting: Setting) -> Judgment:
    """A rule that asks does not open what the mode forbids."""
    mode = by_mode(setting, request.effect, inside=True, vouched=_is_vouched(request, setting))
    return replace(found, verdict="deny", why=mode.why, rule=None) if mode.verdict == "deny" else found


def _strongest(rules: Sequence[Rule]) -> Judgment | None:
    for verdict in ("deny", "ask", "allow"):
        for rule in rules:
            if rule.verdict == verdict:
                return Judgment(verdict, f"the rule {rule} says so", rule)
    return None


def _judge_line(line: ShellLine, rules: Sequence[Rule]) -> Judgment:
    parts = tuple(_part(command, rules) for command in line.commands)
    whole = _strongest(
        [rule for rule in rules if rule.is_whole and (rule.pattern is None or rule.verdict != "allow")]
    )
    if whole is not None and whole.verdict == "deny":
        return replace(whole, parts=parts)
    patterns = [rule for rule in rules if not rule.is_whole]
    for verdict in ("deny", "ask"):
        for part in parts:
            if part.rule is not None and part.rule.verdict == verdict:
                why = f"the rule {part.rule} is about `{part.text}`"
                return Judgment(verdict, why, part.rule, parts)
        for rule in patterns:
            if rule.verdict == verdict and _is_seen(rule, line):
                why = f"what it runs cannot be judged, and it names what the rule {rule} is about"
                return Judgment(verdict, why, rule, parts)
    if whole is not None and whole.verdict == "ask":
        return replace(whole, parts=parts)
    doubt = _doubt(line, [rule for rule in patterns if rule.verdict != "allow"])
    if doubt is not None:
        return replace(doubt, parts=parts)
    if whole is not None:
        return replace(whole, parts=parts)
    return _allowed(line, [rule for rule in rules if rule.verdict == "allow"], parts)


def _allowed(line: ShellLine, allowing: Sequence[Rule], parts: tuple[Part, ...]) -> Judgment:
    passed: list[tuple[Rule, str]] = []
    for rule in allowing:
        why_not = rule.command.covers(line)
        if not why_not:
            return Judgment("allow", f"the rule {rule} covers it", rule, parts)
        passed.append((rule, why_not))
    return Judgment("allow", "", None, parts, tuple(passed))


def _part(command: Command, rules: Sequence[Rule]) -> Part:
    notes = tuple(dict.fromkeys(risk.why for risk in command.risks))
    for verdict in ("deny", "ask"):
        for rule in rules:
            if rule.verdict == verdict and not rule.is_whole and rule.command.touches(command) == "yes":
                return Part(command.text, command.via, rule, notes)
    return Part(command.text, command.via, None, notes)


def _is_seen(rule: Rule, line: ShellLine) -> bool:
    if line.unclear:
        return rule.command.is_seen_in(line.text)
    return any(command.code and rule.command.is_seen_in(command.code) for command in line.commands)


def _doubt(line: ShellLine, narrowing: Sequence[Rule]) -> Judgment | None:
    """Asks where a rule that asks or denies may be about a part that is known only when it runs."""
    if not narrowing:
        return None
    if line.unclear:
        return Judgment("ask", line.unclear[0], narrowing[0])
    for rule in narrowing:
        for command in line.commands:
            if rule.command.touches(command) == "maybe":
                return Judgment("ask", f"`{command.text}` may become what the rule {rule} is about", rule)
    return None
