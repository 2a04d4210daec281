"""The two readers of command lines, each alone: a mistake of one must not be a mistake of both."""

from __future__ import annotations

import pytest
from core.policies import policy, shell

from agent_chat.core.shell.plain import single_command
from agent_chat.core.shell.reader import read_line


@pytest.mark.parametrize(
    "line",
    [
        "a && b",
        "a; b",
        "a | b",
        "a & b",
        "a\nb",
        "a > p",
        "a > /dev/null/../p",
        "a 2>&1x",
        "a < p",
        "a $(b)",
        "a `b`",
        'a "$(b)"',
        'a "\\"',
        "a $X",
        "a {b,c}",
        "a \\\n b",
        "a *.py",
        "a -*",
        "a # b",
        "(a)",
        "{ a; }",
        "! a",
        "X=1 a",
        "X+=1 a",
        "a 'b",
        'a "b',
        "a\rb",
        "a\u00a0b",
        "a\u200bb",
        "> p",
        "",
        "''",
        "*/a",
    ],
)
def test_the_strict_reader_knows_nothing_but_plain_commands(line: str) -> None:
    assert single_command(line) is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (" a  b\tc\n", ("a", "b", "c")),
        ("a 'b c' \"d e\"", ("a", "b c", "d e")),
        ("a b'c'\"d\"e", ("a", "bcde")),
        ("a '' \"\"", ("a", "", "")),
        ("a '$x;`y`'", ("a", "$x;`y`")),
        ("a ~/b b~", None),
        ("a ~/b", ("a", "~/b")),
        ("a x*.py y/?", ("a", "x*.py", "y/?")),
        ("a > /dev/null 2>&1", ("a",)),
        ("a 2>>/dev/null b", ("a", "b")),
        ("a &>/dev/null", ("a",)),
    ],
)
def test_what_the_strict_reader_reads(line: str, words: tuple[str, ...] | None) -> None:
    assert single_command(line) == words


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("a && b || c; d & e | f |& g\nh", ["a", "b", "c", "d", "e", "f", "g", "h"]),
        ("(a); { b; }; ! c", ["a", "b", "c"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        (
            "for i in $(a); do b; done; while c; do d; done; until e; do f; done",
            ["a", "b", "c", "d", "e", "f"],
        ),
        ("case $(a) in x) b;; *) c;; esac", ["a", "b", "c"]),
        ("f() { a; }; function g { b; }", ["a", "b"]),
        ("X=$(a) b $(c `d`)", ["b $(c `d`)", "a", "c `d`", "d"]),
        ("a <(b) > >(c)", ["a <(b)", "b", "c"]),
        ("[[ -n $(a) ]] && [ -f x ]", ["[[ -n $(a) ]]", "a", "[ -f x ]"]),
        ("export X=$(a); declare -x Y; unset Z", ["export X=$(a)", "a", "declare -x Y", "unset Z"]),
        ('echo "a $(b "$(c)") d"', ['"a $(b "$(c)") d"', "b", "c"]),
        ("cat <<E\n$(a)\nE\nb", ["cat", "a", "b"]),
        ("cat <<'E'\n$(a)\nE\nb", ["cat", "b"]),
        ("sudo -u x env A=1 nice -n 5 a b", ["sudo", "env", "nice", "a b"]),
    ],
)
def test_the_parser_finds_every_command(line: str, commands: list[str]) -> None:
    found = [command.text for command in read_line(line).commands]
    missing = [part for part in commands if not any(part in text for text in found)]
    assert missing == []


def test_the_parser_alone_sees_what_is_more_than_a_plain_command() -> None:
    assert read_line("git status").single == ("git", "status")
    assert read_line("git status > p").writes == ("p",)
    assert read_line("git status > /dev/null").writes == ()
    assert read_line("git status 2>&1").writes == ()
    assert read_line("git 'status").unclear != ()
    assert read_line("git sta\\\ntus").unclear != ()


def test_declarations_and_tests_are_commands_too() -> None:
    judged = policy(allow=["shell"], deny=["shell(export *)", "shell([ *)"])
    assert judged.explain(shell("export LD_PRELOAD=x; make")).verdict == "deny"
    assert judged.explain(shell("[ -f x ] && make")).verdict == "deny"
