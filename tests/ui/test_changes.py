"""How changes of files, their taking back and a dry run are shown."""

from __future__ import annotations

from support.faces import entry, notes

from agent_chat.core.events import (
    ChangeUndone,
    FileChanged,
    SessionResumed,
    SessionStarted,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from agent_chat.core.model import Usage
from agent_chat.core.observation import Effect
from agent_chat.ui.view import View

CHANGED = FileChanged(
    call_id="c", workspace="/w", path="[red]a\x1b[2J.py", before=None, after="0" * 64, added=1200, removed=0
)


def test_r28_r29_a_change_is_a_detail_shown_literally() -> None:
    view = View(conversation=True)
    [(kind, text)] = notes(view.entry(entry(CHANGED)))
    assert (kind, text) == ("detail", "[red]a␛[2J.py: new file, +1,200 -0; /undo takes it back")
    undone = ChangeUndone(change=1, path="a.py", before="0" * 64, after=None)
    assert notes(view.entry(entry(undone))) == [("detail", "a.py: removed again")]


def started(*, dry_run: bool) -> SessionStarted:
    return SessionStarted(
        program_version="0", workspace="/w", system="", model="m", tools=(), dry_run=dry_run
    )


def turn(view: View, *calls: tuple[str, Effect, bool]) -> list[str]:
    """The list of what would have been done, as a turn with these calls ends with it."""
    view.entry(entry(TurnStarted()))
    for number, (name, effect, ok) in enumerate(calls):
        call = f"c{number}"
        view.entry(
            entry(
                ToolStarted(call_id=call, name=name, arguments={"n": 1}, effect=effect, idempotency_key="k")
            )
        )
        view.entry(entry(ToolFinished(call_id=call, name=name, ok=ok, content="x", size=1, duration_s=0.0)))
    end = TurnEnded(
        kind="completed",
        reason="final_answer",
        answer="",
        evidence="",
        iterations=1,
        tool_calls=len(calls),
        usage=Usage(),
        cost_usd=0.0,
        duration_s=0.0,
    )
    return [text for kind, text in notes(view.entry(entry(end))) if kind == "notice"]


def test_each_turn_of_a_dry_run_ends_with_what_would_have_been_done() -> None:
    view = View(conversation=True)
    view.entry(entry(started(dry_run=True)))
    assert turn(
        view, ("read_file", "read", True), ("write_file", "write", True), ("shell", "execute", False)
    ) == ["Dry run: nothing was done. This would have been:\n1. write_file(n=1)"]
    assert turn(view, ("read_file", "read", True)) == ["Dry run: nothing would have been done."]
    view.entry(entry(SessionResumed(program_version="0", model="m", tools=())))
    assert turn(view, ("write_file", "write", True)) == []


def test_a_real_run_has_no_such_list() -> None:
    view = View(conversation=True)
    view.entry(entry(started(dry_run=False)))
    assert turn(view, ("write_file", "write", True)) == []
