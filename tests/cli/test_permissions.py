"""Rules from settings and options, the commands that explain them, and what a one-shot makes of a denial."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.conftest import Place
from support.fixtures import Command, ProviderFactory
from support.provider import FIN, OK, TC

from agent_chat.cli.load_settings import Loaded, Options
from agent_chat.cli.policy import open_policy, remembered_rules, resolver, rules_of
from agent_chat.core.approval import ApprovalRequest, NeedsPerson
from agent_chat.core.errors import UserError
from agent_chat.core.permissions import Nobody


def own_rules(loaded: Loaded) -> list[tuple[str, str]]:
    """The rules that are not shipped, with their sources."""
    rules = rules_of(loaded, remembered_rules(loaded))
    return [(str(rule), rule.source) for rule in rules if rule.source != "shipped"]


def test_the_rules_of_all_layers_add_up_with_their_sources(place: Place) -> None:
    place.user("agent: {permissions: {allow: [shell(ls *)], deny: [shell(rm *)]}}")
    place.project("agent: {permissions: {deny: [shell(git push *)], ask: [write_file]}}")
    options = Options(allow=("shell(make)",), deny=("fetch_url",), sets=("permissions.deny=[edit_file]",))

    loaded = place.load(options, AGENT_CHAT_PERMISSIONS_ASK="shell(npm *)")

    assert own_rules(loaded) == [
        ("allow shell(ls *)", "user"),
        ("allow shell(make)", "command line"),
        ("ask write_file", "project"),
        ("ask shell(npm *)", "user"),
        ("deny shell(rm *)", "user"),
        ("deny shell(git push *)", "project"),
        ("deny edit_file", "command line"),
        ("deny fetch_url", "command line"),
    ]
    places = {str(rule): rule.place for rule in rules_of(loaded, None)}
    assert places["deny shell(rm *)"] == f"{place.user_file}:1"
    assert places["allow shell(make)"] == "--allow"
    assert places["deny shell(mkfs* *)"] == ""


def test_a_profile_adds_rules_and_takes_none_away(place: Place) -> None:
    place.user(
        "agent:\n  permissions: {deny: [shell(rm *)]}\n"
        "  profiles: {free: {permissions: {deny: [], allow: [shell], mode: accept-edits}}}"
    )
    loaded = place.load(Options(profile="free"))
    assert own_rules(loaded) == [("allow shell", "user"), ("deny shell(rm *)", "user")]
    assert loaded.agent.permissions.mode == "accept-edits"


def test_a_project_can_only_narrow(place: Place) -> None:
    place.user("agent: {permissions: {mode: accept-edits}}")
    place.project(
        "agent: {permissions: {allow: [shell, write_file], deny: [shell(rm *)], mode: auto, on_denied: stop}}"
    )

    loaded = place.load()

    assert own_rules(loaded) == [("deny shell(rm *)", "project")]
    assert (loaded.agent.permissions.mode, loaded.agent.permissions.on_denied) == ("accept-edits", "stop")
    assert len(loaded.warnings) == 3
    assert all(f"{place.project_file}:1:" in warning for warning in loaded.warnings)
    assert "'shell' stays off" in loaded.warnings[0]
    assert "auto" in loaded.warnings[2]

    place.project("agent: {permissions: {mode: plan}}")
    assert place.load().agent.permissions.mode == "plan"


def test_an_untrusted_project_has_no_rules(place: Place) -> None:
    place.project("agent: {permissions: {deny: [shell]}}", trusted=False)
    assert own_rules(place.load()) == []


@pytest.mark.parametrize("verdict", ["allow", "ask", "deny"])
def test_a_malformed_rule_is_told_with_its_place_and_an_example(place: Place, verdict: str) -> None:
    place.user(f"agent:\n  permissions:\n    {verdict}:\n      - shell(git\n")
    message = place.refused()
    assert f"{place.user_file}:4:9" in message
    assert "shell(git status)" in message


def test_a_malformed_rule_in_an_option_names_the_option(place: Place) -> None:
    assert place.refused(Options(allow=("shell(",))).startswith("--allow: 'shell(' is no rule")
    assert "--mode" in place.refused(Options(mode="yolo"))


def test_what_was_allowed_for_always_holds_in_the_next_session(place: Place) -> None:
    problems: list[str] = []
    loaded = place.load()
    remembered = remembered_rules(loaded)
    assert remembered is not None
    remembered.add("shell(pytest *)")
    remembered.add("shell(pytest *)")

    policy = open_policy(loaded, place.cwd, Nobody(), sandboxed=False, on_problem=problems.append)

    request = ApprovalRequest("c", "shell", {"command": "pytest -x"}, "execute")
    assert str(policy.explain(request).rule) == "allow shell(pytest *)"
    assert remembered.path.read_text(encoding="utf-8") == "shell(pytest *)\n"
    assert own_rules(loaded) == [("allow shell(pytest *)", "user")]


def test_a_damaged_list_of_what_was_allowed_allows_nothing(place: Place) -> None:
    loaded = place.load()
    remembered = remembered_rules(loaded)
    assert remembered is not None
    remembered.add("# a comment")
    remembered.add("shell(git")
    with pytest.raises(UserError) as caught:
        rules_of(loaded, remembered)
    assert f"{remembered.path}:2" in caught.value.message


def test_paths_are_resolved_through_links(place: Place, tmp_path: Path) -> None:
    (place.cwd / "src").mkdir()
    (place.cwd / "out").symlink_to(tmp_path)
    (place.cwd / "in").symlink_to(place.cwd / "src")
    resolve = resolver(place.cwd)
    assert resolve("in/a.py") == "src/a.py"
    assert resolve("out/a.py") is None
    assert resolve("../config") is None
    assert resolve(".") == "."
    assert resolve("a\0b") is None


def test_git_folders_are_asked_for_even_where_edits_are_accepted(place: Place) -> None:
    loaded = place.load(Options(mode="accept-edits", allow=("write_file",)))
    policy = open_policy(loaded, place.cwd, Nobody(), sandboxed=False, on_problem=lambda _: None)
    for path in (".git/hooks/pre-commit", "sub/.git/config", ".agent-chat/config.yaml"):
        assert isinstance(
            policy.judge(ApprovalRequest("c", "write_file", {"path": path}, "write")), NeedsPerson
        )


@pytest.mark.parametrize(
    "line",
    [
        "rm -rf /",
        "rm -fr -- /",
        "rm -r -f /*",
        "rm --recursive --force ~",
        "sudo rm -rf ~/",
        "a; mkfs.ext4 x",
    ],
)
def test_what_destroys_a_machine_is_denied_from_the_start(place: Place, line: str) -> None:
    policy = open_policy(
        place.load(Options(allow=("shell",))), place.cwd, Nobody(), sandboxed=True, on_problem=lambda _: None
    )
    assert policy.explain(ApprovalRequest("c", "shell", {"command": line}, "execute")).verdict == "deny"
    fine = ApprovalRequest("c", "shell", {"command": "rm -rf build /tmp/x; dd if=a of=b"}, "execute")
    assert policy.explain(fine).verdict == "allow"


def test_explain_tells_part_by_part_which_rule_decides(chat: Command) -> None:
    result = chat(
        *("permissions", "explain", "shell(git status && rm x)"),
        *("--allow", "shell(git *)", "--deny", "shell(rm *)"),
    )
    assert result.code == 0
    assert result.out.splitlines()[0] == "deny: the rule deny shell(rm *) is about `rm x`"
    assert "    git status\n" in result.out
    assert "    rm x  ← deny shell(rm *)\n" in result.out
    assert "(command line, --deny)" in result.out


def test_explain_says_why_a_rule_does_not_allow_and_what_would(chat: Command) -> None:
    result = chat("permissions", "explain", "shell(git log --output=x)", "--allow", "shell(git *)")
    assert result.out.startswith("ask: ")
    assert "not allowed by shell(git *): --output=x" in result.out
    assert "--allow 'shell(git log --output=x)'" in result.out


def test_explain_as_json(chat: Command) -> None:
    result = chat(
        *("permissions", "explain", "shell(sudo git push)", "--mode", "auto", "--sandboxed"),
        *("--output", "json", "--deny", "shell(git push *)"),
    )
    told = json.loads(result.out)
    assert (told["schema_version"], told["verdict"], told["mode"]) == (1, "deny", "auto")
    assert told["rule"] == {
        "verdict": "deny",
        "rule": "shell(git push *)",
        "source": "command line",
        "place": "--deny",
    }
    assert [(part["text"], part["via"]) for part in told["parts"]] == [
        ("sudo git push", None),
        ("git push", "sudo"),
    ]


@pytest.mark.parametrize(
    ("call", "options", "verdict"),
    [
        ("read_file(a.py)", (), "allow"),
        ("write_file(a.py)", ("--mode", "accept-edits"), "allow"),
        ("write_file(../a.py)", ("--mode", "accept-edits"), "ask"),
        ("write_file(a.py)", ("--mode", "plan"), "deny"),
        ("shell(make)", ("--mode", "auto"), "ask"),
        ("shell(make)", ("--mode", "auto", "--sandboxed"), "allow"),
        ('mcp__x__get({"id": 1})', ("--effect", "read"), "ask"),
        ("fetch_url(https://docs.python.org/3)", ("--allow", "fetch_url(docs.python.org)"), "allow"),
    ],
)
def test_explain_under_modes(chat: Command, call: str, options: tuple[str, ...], verdict: str) -> None:
    assert chat("permissions", "explain", call, *options).out.split(":")[0] == verdict


def test_list_shows_every_rule_with_its_source(chat: Command) -> None:
    result = chat("permissions", "list", "--allow", "shell(make)", "--output", "json")
    told = json.loads(result.out)
    assert told["mode"] == "ask"
    assert told["rules"][0]["source"] == "shipped"
    assert told["rules"][-1] == {
        "verdict": "allow",
        "rule": "shell(make)",
        "source": "command line",
        "place": "--allow",
    }
    assert "allow  shell(make)" in chat("permissions", "list", "--allow", "shell(make)").out


def test_wrong_rules_and_calls_end_with_code_2(chat: Command, single: Command) -> None:
    for result in (
        chat("permissions", "list", "--deny", "shell("),
        chat("permissions", "explain", "git status"),
        chat("permissions", "explain", "deploy(x)"),
        single("--allow", "shell(a && b)", "hi"),
    ):
        assert result.code == 2
        assert "(" in result.err
        assert result.out == ""


CALC = (TC(0, "c1", "calc", '{"expression": "1+1"}'), FIN("tool_calls"))


def test_a_one_shot_that_nobody_could_approve_ends_with_4(single: Command, provider: ProviderFactory) -> None:
    server = provider(CALC, OK, strict=True)
    result = single("--set", "permissions.ask=[calc]", "--output", "json", "hi", provider=server)
    told = json.loads(result.out)
    assert (result.code, told["exit_code"], told["kind"], told["answer"]) == (4, 4, "completed", "ok")
    assert "nobody can be asked" in json.dumps(server.bodies[1])


def test_a_rule_that_denies_needs_no_person(single: Command, provider: ProviderFactory) -> None:
    server = provider(CALC, OK, strict=True)
    result = single("--deny", "calc(expression=1*)", "hi", provider=server)
    assert (result.stdout, result.code) == (b"ok\n", 0)
    assert "deny calc(expression=1*)" in json.dumps(server.bodies[1])


def test_on_denied_stop_ends_the_turn(single: Command, provider: ProviderFactory) -> None:
    server = provider(CALC, strict=True)
    result = single(
        *("--deny", "calc(expression=1*)", "--set", "permissions.on_denied=stop", "--output", "json", "hi"),
        provider=server,
    )
    assert (result.code, json.loads(result.out)["reason"]) == (4, "permission_denied")


def test_a_tool_that_nothing_could_allow_is_not_offered(single: Command, provider: ProviderFactory) -> None:
    server = provider(OK, strict=True)
    single("--deny", "calc", "--deny", "read_*", "hi", provider=server)
    offered = {tool["function"]["name"] for tool in server.bodies[0]["tools"]}
    assert "now" in offered
    assert not {"calc", "read_file", "read_result"} & offered
