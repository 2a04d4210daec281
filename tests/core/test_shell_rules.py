"""Command lines against rules: what runs unasked, what is asked for, what never runs."""

from __future__ import annotations

import time

import pytest
from core.policies import policy, shell
from hypothesis import given
from hypothesis import strategies as st

ALLOW = (
    "shell(echo *)",
    "shell(git status)",
    "shell(git log *)",
    "shell(git diff *)",
    "shell(npm run *)",
    "shell(ls *)",
    "shell(cat *)",
    "shell(find *)",
    "shell(tar *)",
    "shell(go test *)",
    "shell(make *)",
    "shell(timeout 60 pytest *)",
    "shell(sed *)",
    "shell(awk *)",
    "shell(python -c 'print(1)')",
    "shell(env *)",
    "shell(cat src/*.txt)",
)
ASK = ("shell(sudo *)",)
DENY = ("shell(rm *)", "shell(git push *)", "shell(git reset --hard *)")

LINES = [
    # one plain command
    ("git status", "allow"),
    ("  git   status  ", "allow"),
    ("git status\n", "allow"),
    ('echo "a && b; c"', "allow"),
    ("echo 'a | b > c $(d) `e`'", "allow"),
    ("echo a#b", "allow"),
    ("echo -- -x", "allow"),
    ('"git" status', "allow"),
    ("git log --oneline -5", "allow"),
    ("git status 2>/dev/null", "allow"),
    ("git log 2>&1", "allow"),
    ("cat < /dev/null", "allow"),
    ("npm run build -- --watch", "allow"),
    ("ls src/*.py", "allow"),
    ("echo grüße", "allow"),
    ("timeout 60 pytest -x tests", "allow"),
    ("sed -n 1,5p file", "allow"),
    ("sed 's/a/b/g' file", "allow"),
    ("awk '{print $1}' file", "allow"),
    ("python -c 'print(1)'", "allow"),
    ("find . -name a", "allow"),
    # other words
    ("git statusx", "ask"),
    ("git status -s", "ask"),
    ("git", "ask"),
    ("/usr/bin/git status", "ask"),
    ("./git status", "ask"),
    ("gіt status", "ask"),  # a Cyrillic letter
    ("git\u00a0status", "ask"),
    ("git status\u200b", "ask"),
    ("ｇｉｔ status", "ask"),
    # chained
    ("git status && touch p", "ask"),
    ("git status || touch p", "ask"),
    ("echo a; touch p", "ask"),
    ("echo a | tee p", "ask"),
    ("echo a |& tee p", "ask"),
    ("echo a & touch p", "ask"),
    ("echo a\ntouch p", "ask"),
    ("echo a\r\ntouch p", "ask"),
    ("git status &", "ask"),
    ("git status;", "ask"),
    ("git status && git status", "ask"),
    ("(git status)", "ask"),
    ("{ git status; }", "ask"),
    ("! git status", "ask"),
    ("if git status; then touch p; fi", "ask"),
    ("for i in 1 2; do echo $i; done", "ask"),
    ("while git status; do touch p; done", "ask"),
    ("case a in a) touch p;; esac", "ask"),
    ("echo() { touch p; }; echo a", "ask"),
    ("coproc git status", "ask"),
    ("time git status", "ask"),
    # substituted
    ("echo $(touch p)", "ask"),
    ("echo `touch p`", "ask"),
    ('echo "$(touch p)"', "ask"),
    ("echo ${X:-$(touch p)}", "ask"),
    ("echo $((1 + $(touch p)))", "ask"),
    ("echo $((1 + 1))", "ask"),
    ("a=(1 $(touch p)); echo a", "ask"),
    ("cat <(touch p)", "ask"),
    ("echo > >(touch p)", "ask"),
    ("cat <<E\n$(touch p)\nE", "ask"),
    ('cat <<< "$(touch p)"', "ask"),
    ("echo $HOME", "ask"),
    ("echo {a,b}", "ask"),
    ("ls *.py", "ask"),  # a file can be named like an option
    # redirected, assigned, commented, continued, unfinished
    ("echo a > p", "ask"),
    ("echo a >> p", "ask"),
    ("echo a >| p", "ask"),
    ("echo a &> p", "ask"),
    ("echo a 2> p", "ask"),
    ("cat < p", "ask"),
    ("> p", "ask"),
    ("echo a > /dev/null/../../p", "ask"),
    ("LD_PRELOAD=./x.so git status", "ask"),
    ("PATH=.:$PATH git status", "ask"),
    ("GIT_PAGER=x git log", "ask"),
    ("git status # && rm x", "ask"),
    ("echo a \\\n b", "ask"),
    ("echo a\\\nb", "ask"),
    ("echo 'a", "ask"),
    ("echo a &&", "ask"),
    ("echo a)", "ask"),
    # the command is known only when it runs
    ("$CMD status", "ask"),
    ("g\\it status", "ask"),
    ("$'git' status", "ask"),
    ("/bin/l? x", "ask"),
    ("eval $X", "ask"),
    ("", "ask"),
    # options and wrappers that run things
    ("git log --output=p", "ask"),
    ("git log --outp p", "ask"),
    ("git diff --ext-diff", "ask"),
    ("git -c core.pager=x log", "ask"),
    ("git --exec-path=. status", "ask"),
    ("find . -delete", "ask"),
    ("find . -exec touch p +", "ask"),
    ("tar -xf a --to-command=x", "ask"),
    ("tar --checkpoint=1 --checkpoint-action=exec=x -cf a b", "ask"),
    ("tar xIf ./x a", "ask"),
    ("tar xf a", "allow"),
    ("git log --textc", "ask"),
    ("go test -exec=./x", "ask"),
    ("go test --exec ./x", "ask"),
    ("go test ./...", "allow"),
    ("make SHELL=./x", "ask"),
    ("make CC=gcc -j", "allow"),
    ("sed -n '1e touch p' file", "ask"),
    ("sed -i s/a/b/ file", "ask"),
    ("awk 'BEGIN{system(\"touch p\")}'", "ask"),
    ("env", "allow"),
    ("env git status", "ask"),
    ("env -S 'touch p'", "ask"),
    ("timeout 60 touch p", "ask"),
    ("python -c 'print(2)'", "ask"),
    ("sudo git status", "ask"),
    ("cat src/a.txt", "allow"),
    # denied, in any part and however it is written
    ("rm x", "deny"),
    ("rm", "deny"),
    ("/bin/rm x", "deny"),
    ("r\\m x", "deny"),
    ("'rm' x", "deny"),
    ('r""m x', "deny"),
    ("$'\\x72m' x", "deny"),
    ("RM x", "deny"),
    ("git status && rm x", "deny"),
    ("echo $(rm x)", "deny"),
    ("echo `rm x`", "deny"),
    ("cat <(rm x)", "deny"),
    ("cat <<E\n$(rm x)\nE", "deny"),
    ("bash <<E\nrm x\nE", "deny"),
    ("bash <<< 'rm x'", "deny"),
    ("echo rm x | sh", "deny"),
    ("for i in *; do rm $i; done", "deny"),
    ("f() { rm x; }; f", "deny"),
    ("X=1 rm x", "deny"),
    ("sudo rm x", "deny"),
    ("sudo -u root -- rm x", "deny"),
    ("env A=b rm x", "deny"),
    ("env -S 'rm x'", "deny"),
    ("xargs -n 1 rm", "deny"),
    ("timeout -k 1 5 rm x", "deny"),
    ("nice -n 5 nohup rm x", "deny"),
    ("command rm x", "deny"),
    ("exec rm x", "deny"),
    ("busybox rm x", "deny"),
    ("bash -lc 'rm x'", "deny"),
    ("sh -c \"bash -c 'rm x'\"", "deny"),
    ("eval 'rm x'", "deny"),
    ("trap 'rm x' EXIT", "deny"),
    ("find . -exec rm {} \\;", "deny"),
    ("watch -n 5 'rm x'", "deny"),
    ("ssh host rm x", "deny"),
    ("uv run rm x", "deny"),
    ("git -C sub push", "deny"),
    ("git --no-pager -c a=b push origin", "deny"),
    ("git submodule foreach 'git push'", "deny"),
    ("git rebase -x 'rm x' main", "deny"),
    ("git reset --hard", "deny"),
    ("git reset HEAD~1 --hard", "deny"),
    ("python -c \"import os; os.system('rm x')\"", "deny"),
    ("python -W error -c \"import os; os.system('rm x')\"", "deny"),
    ("$X rm x", "deny"),
    ("{rm,x}", "deny"),
    ("rm 'x", "deny"),
    # near what is denied
    ("git commit -m push", "ask"),
    ("git reset --soft", "ask"),
    ("git $SUB", "ask"),
    ("echo rm x", "allow"),
    ("echo 'git push'", "allow"),
]


@pytest.mark.parametrize(("line", "verdict"), LINES, ids=[repr(line) for line, _ in LINES])
def test_lines(line: str, verdict: str) -> None:
    judgment = policy(allow=ALLOW, ask=ASK, deny=DENY).explain(shell(line))
    assert (judgment.verdict, judgment.why) == (verdict, judgment.why)


@pytest.mark.parametrize(
    "line",
    [
        "git status && touch p",
        "echo a; touch p",
        "echo a | tee p",
        "echo $(touch p)",
        "echo `touch p`",
        "echo a\ntouch p",
        "echo a > p",
        "echo a & touch p",
        "git statusx",
        "cat <(touch p)",
    ],
)
def test_r44_an_allow_rule_covers_no_compound(line: str) -> None:
    assert policy(allow=["shell(echo *)", "shell(git status)"]).explain(shell(line)).verdict == "ask"


@pytest.mark.parametrize("line", ["git status", 'echo "a && b; c"'])
def test_r44_one_simple_command_runs_without_asking(line: str) -> None:
    assert policy(allow=["shell(echo *)", "shell(git status)"]).explain(shell(line)).verdict == "allow"


def test_the_tool_alone_allows_every_line_but_what_a_rule_may_deny() -> None:
    free = policy(allow=["shell"], deny=["shell(rm *)"])
    assert free.explain(shell("make && ./x > log; cat <(ls)")).verdict == "allow"
    assert free.explain(shell("make && rm x")).verdict == "deny"
    assert free.explain(shell("$CMD x")).verdict == "ask"
    assert free.explain(shell("r$(echo)m x")).verdict == "ask"
    assert policy(allow=["shell"]).explain(shell("$CMD x")).verdict == "allow"
    assert policy(allow=["shell(*)"]).explain(shell("make; make")).verdict == "ask"


def test_a_command_that_runs_another_is_allowed_only_where_the_rule_names_that() -> None:
    assert policy(allow=["shell(timeout *)"]).explain(shell("timeout 5 make")).verdict == "ask"
    assert policy(allow=["shell(timeout 5 make *)"]).explain(shell("timeout 5 make -j")).verdict == "allow"
    assert policy(allow=["shell(uv run *)"]).explain(shell("uv run rm x")).verdict == "ask"
    assert policy(allow=["shell(uv run pytest *)"]).explain(shell("uv run pytest -x")).verdict == "allow"
    assert policy(allow=["shell(sh -c 'a; b')"]).explain(shell("sh -c 'a; b'")).verdict == "allow"
    assert policy(allow=["shell(git -C sub log *)"]).explain(shell("git -C sub log -1")).verdict == "allow"


def test_a_wildcard_inside_a_word_does_not_climb_out() -> None:
    wild = policy(allow=["shell(cat src/*)"])
    assert wild.explain(shell("cat src/a/b.txt")).verdict == "allow"
    assert wild.explain(shell("cat src/../secret")).verdict == "ask"


@pytest.mark.parametrize("line", ["a" * 30_000, "$(" * 3_000, "(" * 3_000, "sh -c " * 200, "\ud800", "\0"])
def test_what_is_too_much_to_judge_is_asked_for_at_once(line: str) -> None:
    begun = time.perf_counter()
    assert policy(allow=["shell(*)"], deny=["shell(rm *)"]).explain(shell(line)).verdict == "ask"
    assert time.perf_counter() - begun < 5


ALLOWED = st.sampled_from([line for line, verdict in LINES if verdict == "allow"])
JOINED = st.sampled_from(
    ["&&", "||", ";", "|", "|&", "&", "\n", ">", ">>", "<", ";;", "<(", "$(", "`", "\r", "\\\n&&"]
)
COMMANDS = st.sampled_from(["touch p", "git status", "echo a", "x", "$X", "p", "sudo x"])
BLANKS = st.sampled_from(["", " ", "\t", "  "])


@given(ALLOWED, BLANKS, JOINED, BLANKS, COMMANDS)
def test_nothing_appended_to_an_allowed_line_stays_allowed(
    line: str, before: str, operator: str, after: str, command: str
) -> None:
    whole = line.rstrip() + before + operator + after + command
    assert policy(allow=ALLOW, ask=ASK, deny=DENY).explain(shell(whole)).verdict != "allow"


@st.composite
def spelled(draw: st.DrawFn, word: str) -> str:
    """One of the many ways to write a word in a shell."""
    ways = ("{}", "'{}'", '"{}"', "\\{}", "''{}", '""{}', "$'{}'", "\\\n{}", "{}${{X}}", "{}$()")
    return "".join(draw(st.sampled_from(ways)).format(letter) for letter in word)


@given(
    spelled("rm"),
    spelled("x"),
    st.sampled_from(["{}", "sudo {}", "sh -c '{}'", "a; {}", "echo $({})", "! {}"]),
)
def test_no_spelling_of_a_denied_command_is_allowed(name: str, argument: str, around: str) -> None:
    line = around.format(f"{name} {argument}")
    for allow in (["shell(*)"], ["shell"]):
        assert policy(allow=allow, deny=["shell(rm *)"]).explain(shell(line)).verdict != "allow"


@given(st.text(max_size=40))
def test_any_text_is_judged(text: str) -> None:
    judgment = policy(allow=["shell(*)"], deny=["shell(rm *)"]).explain(shell(text))
    assert judgment.verdict in ("allow", "ask", "deny")
