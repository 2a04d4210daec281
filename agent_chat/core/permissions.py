"""Who decides what may run: by effect alone, or by rules, a mode and a person."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

from agent_chat.core.approval import (
    Allowed,
    Approval,
    ApprovalRequest,
    Approved,
    Denied,
    NeedsPerson,
    Preview,
    Refused,
    Revise,
    Verdict,
)
from agent_chat.core.judging import Judgment, judge
from agent_chat.core.modes import PLAN_MESSAGE, Mode, Setting, vouch_for_none
from agent_chat.core.observation import Effect
from agent_chat.core.rules import Resolve, Rule, parse_rule
from agent_chat.core.suggestions import suggest_rule

ALL_EFFECTS: frozenset[Effect] = frozenset(("read", "write", "execute", "network"))
OnDenied = Literal["continue", "stop"]


@dataclass(frozen=True, slots=True)
class AllowEffects:
    """An approver that allows some effects and denies the others: for where nobody can be asked."""

    effects: Collection[Effect]

    def judge(self, request: ApprovalRequest) -> Verdict:
        if request.effect in self.effects:
            return Allowed()
        return NeedsPerson(f"{request.name} has effects ({request.effect})")

    async def ask(
        self, request: ApprovalRequest, preview: Preview | None, verdict: NeedsPerson, revise: Revise
    ) -> Approval:
        return Denied(f"Denied: {verdict.why}, and nobody can be asked to approve it.")


class Person(Protocol):
    """Answers for a user. Never raises; may be cancelled."""

    async def ask(
        self,
        request: ApprovalRequest,
        preview: Preview | None,
        verdict: NeedsPerson,
        rule: str | None,
        revise: Revise,
    ) -> Approval:
        """`rule`: what `session` and `always` would allow from now on; None where only `once` makes sense.
        A user who changes the rule gives the changed one back in `Approved.rule`."""
        ...


@dataclass(frozen=True, slots=True)
class Nobody:
    """The `Person` of pipes and scripts: says no, and what would have made it a yes."""

    on_denied: OnDenied = "continue"

    async def ask(
        self,
        request: ApprovalRequest,
        preview: Preview | None,
        verdict: NeedsPerson,
        rule: str | None,
        revise: Revise,
    ) -> Approval:
        message = f"Denied: {verdict.why}, and nobody can be asked here. {_way_out(request, verdict, rule)}"
        return Denied(message, final=self.on_denied == "stop")


def _way_out(request: ApprovalRequest, verdict: NeedsPerson, rule: str | None) -> str:
    if verdict.rule:
        return f"The rule {verdict.rule} asks for a person each time; no other rule overrides it."
    if rule is None and request.name == "shell":
        return (
            "An allow rule covers one plain command, so call the commands one at a time; "
            f"--allow {request.name} allows every command line."
        )
    return f"To allow it, the user starts the program with --allow '{rule or request.name}'."


def _forget(rule: str) -> None:
    """Where nothing is kept beyond the session."""


class RulePolicy:
    """The `Approver` of rules: deny beats ask beats allow, whoever wrote them; the mode decides the rest.

    `sandboxed`: commands run in a sandbox. `remember` keeps a rule that a person allowed for always; it must
    not raise. `vouches`: whether the user believes what a tool of somebody else's says of its effect.
    """

    def __init__(
        self,
        rules: Iterable[Rule] = (),
        *,
        person: Person,
        resolve: Resolve,
        mode: Mode = "ask",
        sandboxed: bool = False,
        on_denied: OnDenied = "continue",
        remember: Callable[[str], None] = _forget,
        vouches: Callable[[str], bool] = vouch_for_none,
    ) -> None:
        self._rules = tuple(rules)
        self._person = person
        self._resolve = resolve
        self.mode: Mode = mode
        self.sandboxed = sandboxed
        self._on_denied: OnDenied = on_denied
        self._remember = remember
        self._vouches = vouches

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules in force, those granted while running last."""
        return self._rules

    def grant(self, rule: str, place: str = "") -> Rule:
        """Allows something for the rest of the session. Raises ValueError for what is no rule."""
        granted = parse_rule(rule, "allow", "session", place)
        self._rules = (*self._rules, granted)
        return granted

    def explain(self, request: ApprovalRequest) -> Judgment:
        """What is decided of a call, by what, and why."""
        return judge(request, self._rules, Setting(self.mode, self.sandboxed, self._vouches), self._resolve)

    def hides(self, tool: str) -> bool:
        """Whether nothing could allow this tool: the model need not be offered it."""
        return any(rule.verdict == "deny" and rule.is_whole and rule.names(tool) for rule in self._rules)

    def judge(self, request: ApprovalRequest) -> Verdict:
        judgment = self.explain(request)
        rule = judgment.rule
        match judgment.verdict:
            case "allow":
                return Allowed(str(rule) if rule is not None else "")
            case "ask":
                by = f"{rule} ({rule.where})" if rule is not None else ""
                return NeedsPerson(judgment.why, by)
            case "deny":
                return Refused(_refusal(judgment), final=self._on_denied == "stop")

    async def ask(
        self, request: ApprovalRequest, preview: Preview | None, verdict: NeedsPerson, revise: Revise
    ) -> Approval:
        # An allow rule would change nothing where another one asks each time.
        proposed = None if verdict.rule else suggest_rule(request, self._resolve)
        approval = await self._person.ask(request, preview, verdict, proposed, revise)
        if isinstance(approval, Approved) and approval.duration != "once":
            self._grant_if_rule(approval, approval.rule or proposed)
        return approval

    def _grant_if_rule(self, approval: Approved, rule: str | None) -> None:
        if rule is None:
            return
        try:
            self.grant(rule)
        except ValueError:
            return  # approved for this once: the face checks what its user writes
        if approval.duration == "always":
            self._remember(rule)


def _refusal(judgment: Judgment) -> str:
    if judgment.rule is None:
        return judgment.why if judgment.why == PLAN_MESSAGE else f"Denied: {judgment.why}."
    return (
        f"Denied: {judgment.why} ({judgment.rule.where}). "
        "Nobody can approve it in this session; do it another way or say that it cannot be done."
    )
