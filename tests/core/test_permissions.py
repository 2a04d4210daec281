"""Rules for files, addresses and other tools; modes; what a person and nobody says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from core.policies import call, policy, resolve, shell

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
    Revision,
)
from agent_chat.core.modes import PLAN_MESSAGE, Mode
from agent_chat.core.observation import Effect
from agent_chat.core.rules import parse_rule
from agent_chat.core.suggestions import suggest_rule


@dataclass
class Answering:
    """A person who gives one answer, and what was proposed to them."""

    answer: Approval
    proposed: list[str | None] = field(default_factory=list[str | None])

    async def ask(
        self,
        request: ApprovalRequest,
        preview: Preview | None,
        verdict: NeedsPerson,
        rule: str | None,
        revise: Revise,
    ) -> Approval:
        self.proposed.append(rule)
        return self.answer


async def unrevised(arguments: Mapping[str, Any]) -> Revision:
    """What changed arguments would do: nothing changes them here."""
    return Revision(arguments, None)


def verdict_of_write(rule: str, path: str, kind: str = "allow") -> str:
    rules = {kind: [rule]}
    return policy(**rules).explain(call("write_file", "write", path=path)).verdict  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "path", "verdict"),
    [
        ("write_file(src/**)", "src/a/b.py", "allow"),
        ("write_file(src/**)", "./src//a.py", "allow"),
        ("write_file(src/**)", "src/../secret", "ask"),
        ("write_file(src/**)", "srcs/a.py", "ask"),
        ("write_file(src/**)", "link-inside/a.py", "allow"),
        ("write_file(link/**)", "link/secret.txt", "ask"),
        ("write_file(**)", "/etc/passwd", "ask"),
        ("write_file(**)", "../w-evil/s", "ask"),
        ("write_file(*)", "~/x", "ask"),
        ("write_file(*.md)", "docs/a.md", "allow"),
        ("write_file(*.md)", "docs/a.mdx", "ask"),
        ("write_file(./README.md)", "README.md", "allow"),
        ("write_file(./README.md)", "docs/README.md", "ask"),
        ("write_file", "anywhere", "allow"),
        ("write_*(src/**)", "src/a", "no rule"),
        ("edit_file", "src/a", "ask"),
    ],
)
def test_r45_paths_are_judged_where_they_lead(rule: str, path: str, verdict: str) -> None:
    if verdict == "no rule":
        with pytest.raises(ValueError, match="one tool"):
            verdict_of_write(rule, path)
    else:
        assert verdict_of_write(rule, path) == verdict


@pytest.mark.parametrize("path", [".git/config", "a/.git/hooks/x", ".GIT/config", "src/../.git/config"])
def test_a_denied_path_is_denied_however_it_is_written(path: str) -> None:
    assert verdict_of_write("write_file(**/.git/**)", path, "deny") == "deny"


@pytest.mark.parametrize(
    ("rule", "url", "verdict"),
    [
        ("fetch_url(docs.python.org)", "https://docs.python.org/3/library", "allow"),
        ("fetch_url(docs.python.org)", "HTTPS://DOCS.Python.org./3", "allow"),
        ("fetch_url(docs.python.org)", "https://docs.python.org.evil.com/", "ask"),
        ("fetch_url(docs.python.org)", "https://docs.python.org@evil.com/", "ask"),
        ("fetch_url(docs.python.org)", "https://evil.com/docs.python.org", "ask"),
        ("fetch_url(docs.python.org)", "https://user@docs.python.org/", "ask"),
        ("fetch_url(docs.python.org)", "https://docs.python.org:8443/", "ask"),
        ("fetch_url(docs.python.org)", "https://docs.python.org\\@evil.com/", "ask"),
        ("fetch_url(*.python.org)", "https://docs.python.org/", "allow"),
        ("fetch_url(*.python.org)", "https://python.org.evil.com/", "ask"),
        ("fetch_url(*.python.org)", "https://evilpython.org/", "ask"),
        ("fetch_url(https://docs.python.org/*)", "https://docs.python.org/3/", "allow"),
        ("fetch_url(https://docs.python.org/*)", "http://docs.python.org/3/", "ask"),
        ("fetch_url(https://x.org/a/*)", "https://x.org/a/b?q=1", "allow"),
        ("fetch_url(https://x.org/a/*)", "https://x.org/a/../b", "ask"),
        ("fetch_url(https://x.org/a/*)", "https://x.org/a/%2e%2e/b", "ask"),
        ("fetch_url(localhost:8080)", "http://localhost:8080/x", "allow"),
        ("fetch_url", "http://anything", "allow"),
        ("fetch_url(*)", "http://anything", "allow"),
        ("fetch_url(x.org)", "no address", "ask"),
        ("fetch_url(x.org)", "http://[::1", "ask"),
    ],
)
def test_addresses(rule: str, url: str, verdict: str) -> None:
    assert policy(allow=[rule]).explain(call("fetch_url", "network", url=url)).verdict == verdict


def test_other_tools_by_name_and_by_one_argument() -> None:
    push = call("mcp__git__push", "network", branch="feature/x", force=True)
    assert policy(allow=["mcp__git__*"]).explain(push).verdict == "allow"
    assert policy(allow=["mcp__github__*"]).explain(push).verdict == "ask"
    assert policy(allow=["mcp__git__push(branch=feature/*)"]).explain(push).verdict == "allow"
    assert policy(allow=["mcp__git__push(branch=main)"]).explain(push).verdict == "ask"
    assert policy(allow=["mcp__git__push(remote=*)"]).explain(push).verdict == "ask"
    assert policy(deny=["mcp__git__push(force=true)"]).explain(push).verdict == "deny"


def test_deny_beats_ask_beats_allow_whoever_wrote_them() -> None:
    request = call("write_file", "write", path="a.py")
    judged = policy(allow=["write_file"], ask=["write_file(*.py)"], deny=["write_file(a.*)"])
    assert str(judged.explain(request).rule) == "deny write_file(a.*)"
    assert str(policy(allow=["write_file"], ask=["write_file(*.py)"]).explain(request).rule) == (
        "ask write_file(*.py)"
    )
    assert policy(allow=["write_file"]).judge(request) == Allowed("allow write_file")
    judged = policy(deny=["write_file"])
    judged.grant("write_file")
    assert isinstance(judged.judge(request), Refused)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no rule"),
        ("shell(", "no rule"),
        ("shell()", "nothing stands between"),
        ("shell git", "no rule"),
        ("shell('a)", "quotes do not match"),
        ("shell(a && b)", "one command"),
        ("mcp__x__*(a=b)", "one tool"),
        ("read_file(/etc/passwd)", "relative to the workspace"),
        ("read_file(../x)", "relative to the workspace"),
        ("read_file([z-a])", "no pattern of paths"),
        ("fetch_url(docs.python.org/x)", "a domain or an address"),
        ("deploy(main)", "name the argument"),
    ],
)
def test_a_malformed_rule_says_what_is_wrong_and_how_to_write_it(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        parse_rule(text, "allow", "user")
    assert "(" in str(caught.value)


READ = call("read_file", "read", path="a.py")
WRITE = call("write_file", "write", path="a.py")
OUTSIDE = call("write_file", "write", path="../a.py")
OWN_WRITE = call("save", "write", text="x")
FETCH = call("fetch_url", "network", url="https://x.org")
MCP_READ = call("mcp__x__get", "read", id=1)


@pytest.mark.parametrize(
    ("mode", "sandboxed", "expected"),
    [
        ("ask", False, ("allow", "ask", "ask", "ask", "ask", "ask", "ask")),
        ("accept-edits", False, ("allow", "allow", "ask", "ask", "ask", "ask", "ask")),
        ("plan", True, ("allow", "deny", "deny", "deny", "deny", "deny", "ask")),
        ("auto", False, ("allow", "ask", "ask", "ask", "ask", "ask", "ask")),
        ("auto", True, ("allow", "allow", "ask", "ask", "allow", "ask", "ask")),
    ],
)
def test_modes(mode: Mode, sandboxed: bool, expected: tuple[str, ...]) -> None:
    judged = policy(mode=mode, sandboxed=sandboxed)
    requests = (READ, WRITE, OUTSIDE, OWN_WRITE, shell("make; make"), FETCH, MCP_READ)
    assert tuple(judged.explain(request).verdict for request in requests) == expected


def test_auto_without_a_sandbox_says_why_it_asks() -> None:
    verdict = policy(mode="auto").judge(shell("make"))
    assert isinstance(verdict, NeedsPerson)
    assert "without a sandbox" in verdict.why


def test_plan_refuses_whatever_rules_allow_and_says_so() -> None:
    judged = policy(allow=["shell", "write_file"], ask=["edit_file"], mode="plan")
    assert judged.judge(shell("make")) == Refused(PLAN_MESSAGE)
    assert judged.judge(WRITE) == Refused(PLAN_MESSAGE)
    assert judged.judge(call("edit_file", "write", path="a")) == Refused(PLAN_MESSAGE)


def test_rules_hold_in_every_mode() -> None:
    for mode in ("ask", "accept-edits", "auto"):
        assert policy(mode=mode, sandboxed=True, ask=["write_file"]).explain(WRITE).verdict == "ask"
        assert policy(mode=mode, sandboxed=True, deny=["read_file(*.py)"]).explain(READ).verdict == "deny"
        assert (
            policy(mode=mode, sandboxed=True, deny=["shell(rm *)"]).explain(shell("a;rm x")).verdict == "deny"
        )


def test_only_what_nothing_could_allow_is_hidden() -> None:
    judged = policy(deny=["mcp__x__*", "shell(*)", "write_file(src/**)"], mode="plan")
    hidden = [tool for tool in ("mcp__x__get", "shell", "write_file", "edit_file") if judged.hides(tool)]
    assert hidden == ["mcp__x__get", "shell"]


async def test_nobody_denies_and_names_what_would_allow() -> None:
    async def told(request: ApprovalRequest, **rules: list[str]) -> str:
        judged = policy(**rules)  # type: ignore[arg-type]
        verdict = judged.judge(request)
        assert isinstance(verdict, NeedsPerson)
        answer = await judged.ask(request, None, verdict, unrevised)
        assert isinstance(answer, Denied)
        assert not answer.final
        return answer.message

    assert "--allow 'shell(git push)'" in await told(shell("git push"))
    assert "--allow 'write_file(./a.py)'" in await told(WRITE)
    assert "one at a time" in await told(shell("make; make"))
    message = await told(WRITE, ask=["write_file"])
    assert "ask write_file (user, config.yaml:1)" in message
    assert "--allow" not in message


async def test_on_denied_stop_makes_denials_final() -> None:
    judged = policy(deny=["shell(rm *)"], on_denied="stop")
    refused = judged.judge(shell("rm x"))
    assert isinstance(refused, Refused)
    assert refused.final
    verdict = judged.judge(WRITE)
    assert isinstance(verdict, NeedsPerson)
    assert (await judged.ask(WRITE, None, verdict, unrevised)) == Denied(
        "Denied: it has effects (write), and nobody can be asked here. To allow it, the user starts the "
        "program with --allow 'write_file(./a.py)'.",
        final=True,
    )


async def test_yes_for_the_session_allows_the_like_from_then_on() -> None:
    person = Answering(Approved("session"))
    remembered: list[str] = []
    judged = policy(person=person, remembered=remembered)
    await judged.ask(shell("pytest -x"), None, NeedsPerson(), unrevised)
    assert person.proposed == ["shell(pytest *)"]
    assert judged.judge(shell("pytest tests")) == Allowed("allow shell(pytest *)")
    assert [(rule.source, str(rule)) for rule in judged.rules] == [("session", "allow shell(pytest *)")]
    assert remembered == []


async def test_always_is_remembered_as_the_user_changed_it() -> None:
    remembered: list[str] = []
    person = Answering(Approved("always", rule="shell(pytest tests/unit *)"))
    judged = policy(person=person, remembered=remembered)
    await judged.ask(shell("pytest -x"), None, NeedsPerson(), unrevised)
    assert remembered == ["shell(pytest tests/unit *)"]
    assert isinstance(judged.judge(shell("pytest -x")), NeedsPerson)


async def test_a_yes_that_makes_no_rule_holds_once() -> None:
    remembered: list[str] = []
    for answer, line in ((Approved("always"), "a; b"), (Approved("always", rule="shell("), "make")):
        judged = policy(person=Answering(answer), remembered=remembered)
        assert await judged.ask(shell(line), None, NeedsPerson(), unrevised) == answer
        assert judged.rules == ()
    assert remembered == []


@pytest.mark.parametrize(
    ("tool", "subject", "rule"),
    [
        ("shell", "pytest -x tests", "shell(pytest *)"),
        ("shell", "pytest", "shell(pytest)"),
        ("shell", "git log -5", "shell(git log *)"),
        ("shell", "npm run build -- --x", "shell(npm run build *)"),
        ("shell", "git push origin main", "shell(git push origin main)"),
        ("shell", "rm -r build", "shell(rm -r build)"),
        ("shell", "git commit -m 'a b'", "shell(git commit *)"),
        ("shell", "rm 'a b'", "shell(rm 'a b')"),
        ("shell", "sudo make install", "shell(sudo make install)"),
        ("shell", "git -C x log", "shell(git -C x log)"),
        ("shell", "python -c 'print(1)'", "shell(python -c 'print(1)')"),
        ("shell", "make && make", None),
        ("write_file", "src/a.py", "write_file(src/a.py)"),
        ("write_file", "./src/../a [1].py", "write_file(./a\\ \\[1\\].py)"),
        ("write_file", "/etc/passwd", None),
        ("list_files", "", "list_files(*)"),
        ("fetch_url", "https://docs.python.org/3/", "fetch_url(docs.python.org)"),
        ("fetch_url", "http://localhost:8000/", "fetch_url(localhost:8000)"),
        ("fetch_url", "https://u:p@x.org/", None),
    ],
)
def test_the_proposed_rule_is_narrow_and_covers_the_call(tool: str, subject: str, rule: str | None) -> None:
    argument = {"shell": "command", "fetch_url": "url"}.get(tool, "path")
    effects: dict[str, Effect] = {"shell": "execute", "fetch_url": "network"}
    request = call(tool, effects.get(tool, "write"), **{argument: subject})
    assert suggest_rule(request, resolve) == rule
    if rule is not None:
        assert policy(allow=[rule]).explain(request).verdict == "allow"


def test_the_proposed_rule_for_any_other_tool_is_its_name() -> None:
    assert suggest_rule(MCP_READ, resolve) == "mcp__x__get"
