"""What a person is asked before a call runs, and what each answer means."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from agent_chat.core.approval import (
    Approval,
    ApprovalRequest,
    Approved,
    Denied,
    NeedsPerson,
    Preview,
    Revision,
)
from agent_chat.ui.approvals import CHARACTERS, NOT_ANSWERED, REFUSED, ApprovalDialog
from agent_chat.ui.shown import Note

COMMAND = Preview("command", "make test", "in the workspace; no sandbox")


class Desk:
    """A person with prepared answers; remembers what was shown each time, and what stood on the line."""

    def __init__(self, *answers: str | None) -> None:
        self.left = list(answers)
        self.shown: list[str] = []
        self.notes: list[list[Note]] = []
        self.initial: list[str] = []

    async def answer(self, notes: Sequence[Note], *, initial: str = "") -> str | None:
        await asyncio.sleep(0)
        self.notes.append(list(notes))
        self.shown.append("\n".join(note.text for note in notes))
        self.initial.append(initial)
        return self.left.pop(0)


async def revise(arguments: Mapping[str, Any]) -> Revision:
    command = arguments.get("command")
    if not isinstance(command, str):
        raise ValueError("command must be text")
    return Revision(arguments, Preview("command", command, "in the workspace"))


def request(call_id: str = "c1", **arguments: Any) -> ApprovalRequest:
    return ApprovalRequest(call_id, "shell", arguments or {"command": "make test"}, "execute")


async def asked(
    desk: Desk,
    *,
    preview: Preview | None = COMMAND,
    rule: str | None = "shell(make test *)",
    dialog: ApprovalDialog | None = None,
    verdict: NeedsPerson | None = None,
    **arguments: Any,
) -> Approval:
    verdict = verdict or NeedsPerson("it has effects (execute)")
    return await (dialog or ApprovalDialog(desk)).ask(request(**arguments), preview, verdict, rule, revise)


@pytest.mark.parametrize(
    ("answers", "approval"),
    [
        (["y"], Approved()),
        ([" YES "], Approved()),
        (["n"], Denied(REFUSED)),
        (["s"], Approved("session")),
        (["a", "shell(make *)"], Approved("always", rule="shell(make *)")),
        (["a", "", "n"], Denied(REFUSED)),
        (["i", "use make check"], Denied("Denied: the user said no to this call, and: use make check")),
        (["n use make check"], Denied("Denied: the user said no to this call, and: use make check")),
        (["i", "", "y"], Approved()),
        ([None], Denied(NOT_ANSWERED)),
        (["", "yes please", "y y", "0", "101", "²", "ok", "n"], Denied(REFUSED)),
        (["e", "make check", "y"], Approved(arguments={"command": "make check"})),
        (["e", "", "y"], Approved()),
        (["e", "make check", "s", "n"], Denied(REFUSED)),
    ],
)
async def test_answers(answers: list[str | None], approval: Approval) -> None:
    desk = Desk(*answers)
    assert await asked(desk) == approval
    assert desk.left == []


async def test_the_question_says_all_that_matters() -> None:
    desk = Desk("y")
    await asked(desk)
    assert desk.shown[0].splitlines() == [
        "May shell run? (it has effects (execute))",
        "make test",
        "(in the workspace; no sandbox)",
        (
            "y yes | n no | i no, and what to do instead | e edit | s yes for this session | a always | "
            "3 yes to 3 calls of it"
        ),
        "s and a allow: shell(make test *)",
    ]


async def test_without_a_rule_nothing_is_allowed_for_longer() -> None:
    desk = Desk("s", "a", "y")
    assert await asked(desk, rule=None) == Approved()
    assert "for this session" not in "".join(desk.shown)


async def test_arguments_without_a_preview_are_shown_whole_and_edited_as_json() -> None:
    desk = Desk("e", "{", "[]", '{"command": 1}', '{"command": "x"}', "y")
    approval = await asked(desk, preview=None, text="two\nlines", number=3, hidden="a\u200bb")
    assert approval == Approved(arguments={"command": "x"})
    assert "text: two\n  lines\nnumber: 3\nhidden: a<U+200B>b" in desk.shown[0]
    assert desk.initial[1] == '{\n  "text": "two\\nlines",\n  "number": 3,\n  "hidden": "a\\u200bb"\n}'
    assert [text.partition(":")[2][:17] for text in desk.shown[2:5]] == [
        " it is not JSON: ",
        " it is no JSON ob",
        " command must be ",
    ]
    assert desk.initial[2:5] == ["{", "[]", '{"command": 1}']


async def test_a_difference_has_its_colors_and_a_long_one_its_bounds() -> None:
    lines = "\n".join(f"+line {number}" for number in range(100))
    desk = Desk("v", "y")
    await asked(desk, preview=Preview("diff", f"--- a\n+++ b\n@@ -0,0 +1 @@\n{lines}\n same"))
    assert [note.kind for note in desk.notes[0][1:6]] == ["removed", "added", "place", "added", "added"]
    assert "+line 26\n... 74 more lines (v shows all)" in desk.shown[0]
    assert "v show all" in desk.shown[0]
    assert "+line 99\n same" in desk.shown[1]
    assert "v show all" not in desk.shown[1]


async def test_one_long_line_is_bounded_too() -> None:
    desk = Desk("v", "y")
    await asked(desk, preview=Preview("command", "x" * (CHARACTERS + 7)))
    assert "... 7 more characters of this line (v shows all)" in desk.shown[0]
    assert "x" * (CHARACTERS + 7) in desk.shown[1]


async def test_an_always_that_is_no_rule_is_asked_for_again() -> None:
    desk = Desk("a", "shell(", "read_file", "shell(make)")
    assert await asked(desk) == Approved("always", rule="shell(make)")
    assert desk.initial == ["", "shell(make test *)", "shell(", "read_file"]
    assert "no rule" in desk.shown[2]
    assert "'read_file' is not about shell" in desk.shown[3]


async def test_yes_to_several_calls_counts_them_by_tool_and_by_the_rule_that_asks() -> None:
    desk = Desk("3", "n", "n")
    dialog = ApprovalDialog(desk)
    assert await asked(desk, dialog=dialog) == Approved()
    ruled = NeedsPerson("the rule says so", "ask shell(git push *)")
    assert await asked(desk, dialog=dialog, verdict=ruled) == Denied(REFUSED)
    assert await asked(desk, dialog=dialog) == Approved()
    assert await asked(desk, dialog=dialog) == Approved()
    assert await asked(desk, dialog=dialog) == Denied(REFUSED)


async def test_several_calls_are_asked_about_one_after_the_other() -> None:
    desk = Desk("i", "first", "n second")
    dialog = ApprovalDialog(desk)
    first, second = await asyncio.gather(asked(desk, dialog=dialog), asked(desk, dialog=dialog))
    assert (first, second) == (
        Denied("Denied: the user said no to this call, and: first"),
        Denied("Denied: the user said no to this call, and: second"),
    )


async def test_an_interrupt_leaves_the_next_question_possible() -> None:
    class Silent(Desk):
        async def answer(self, notes: Sequence[Note], *, initial: str = "") -> str | None:
            if self.left:
                return await super().answer(notes, initial=initial)
            await asyncio.Event().wait()
            return None

    desk = Silent()
    dialog = ApprovalDialog(desk)
    waiting = asyncio.create_task(asked(desk, dialog=dialog))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert waiting.cancelled()
    desk.left.append("y")
    assert await asked(desk, dialog=dialog) == Approved()
