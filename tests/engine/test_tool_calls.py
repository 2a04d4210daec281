"""Reads run together, effects one by one; results go back in the order of the calls."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from support.engine import FakeTool, ManualClock, bench, call, echo, settle, violations

from agent_chat.core.approval import (
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
from agent_chat.core.events import (
    ApprovalRequested,
    ApprovalResolved,
    IntentRejected,
    ToolFinished,
    ToolRetried,
    ToolStarted,
)
from agent_chat.core.model import ToolOutput
from agent_chat.core.observation import Effect, ToolResult
from agent_chat.core.permissions import AllowEffects
from agent_chat.core.ports import ToolContext
from agent_chat.engine.runtime import Rules
from agent_chat.models.scripted import ScriptedModel, calls, text


class Gates:
    """Tools that wait until they are let through, and tell when they began."""

    def __init__(self) -> None:
        self.running: list[str] = []
        self.opened: dict[str, asyncio.Event] = {}

    def tool(self, name: str, effect: Effect) -> FakeTool:
        self.opened[name] = asyncio.Event()

        async def body(_: object) -> str:
            self.running.append(name)
            await self.opened[name].wait()
            self.running.remove(name)
            return f"{name} done"

        return FakeTool(name, body, effect=effect)

    async def open(self, name: str) -> None:
        self.opened[name].set()
        await settle()


async def test_reads_run_together_and_answer_in_the_order_of_the_calls() -> None:
    gates = Gates()
    wanted = calls(call("c1", "a"), call("c2", "b"), call("c3", "c"))
    b = bench(ScriptedModel(wanted, text("ok")), *(gates.tool(name, "read") for name in "abc"))
    turn = asyncio.create_task(b.session.turn("hi"))
    await settle()
    assert gates.running == ["a", "b", "c"]
    for name in "cba":
        await gates.open(name)
    await turn
    assert [one.name for one in b.sink.of(ToolFinished)] == ["c", "b", "a"]
    assert b.tool_texts() == ["a done", "b done", "c done"]


async def test_effects_run_one_at_a_time_in_their_place() -> None:
    gates = Gates()
    tools = [
        gates.tool("r1", "read"),
        gates.tool("w1", "write"),
        gates.tool("w2", "execute"),
        gates.tool("r2", "read"),
    ]
    wanted = calls(call("c1", "r1"), call("c2", "w1"), call("c3", "w2"), call("c4", "r2"))
    b = bench(ScriptedModel(wanted, text("ok")), *tools)
    turn = asyncio.create_task(b.session.turn("hi"))
    for name in ("r1", "w1", "w2", "r2"):
        await settle()
        assert gates.running == [name]
        await gates.open(name)
    await turn
    assert b.tool_texts() == ["r1 done", "w1 done", "w2 done", "r2 done"]


async def test_reads_that_run_together_are_bounded() -> None:
    gates = Gates()
    tools = [gates.tool(f"t{n}", "read") for n in range(5)]
    wanted = calls(*(call(f"c{n}", f"t{n}") for n in range(5)))
    b = bench(ScriptedModel(wanted, text("ok")), *tools, rules=Rules(max_parallel=2))
    turn = asyncio.create_task(b.session.turn("hi"))
    await settle()
    assert len(gates.running) == 2
    for n in range(5):
        await gates.open(f"t{n}")
    await turn
    assert violations(b.messages()) == []


async def test_a_tool_that_takes_too_long_is_stopped() -> None:
    ended: list[str] = []

    async def forever(_: object) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("stopped")
        return ""

    clock = ManualClock()
    slow = FakeTool("slow", forever, timeout=3)
    b = bench(ScriptedModel(calls(call("c1", "slow")), text("ok")), slow, clock=clock)
    turn = asyncio.create_task(b.session.turn("hi"))
    await b.sink.wait_for(ToolStarted)
    await settle()
    await clock.advance(3)
    await turn
    assert ended == ["stopped"]
    [finished] = b.sink.of(ToolFinished)
    assert (finished.ok, finished.error_type) == (False, "timeout")
    assert "after 3 s" in finished.content


async def test_a_failure_that_may_pass_is_tried_again_with_growing_waits() -> None:
    results = [ToolResult("busy", ok=False, retryable=True)] * 2 + [ToolResult("there")]
    clock = ManualClock(instant=True)
    flaky = FakeTool("flaky", lambda _: results.pop(0), on_failure="retry", retries=3, timeout=None)
    b = bench(ScriptedModel(calls(call("c1", "flaky")), text("ok")), flaky, clock=clock)
    await b.session.turn("hi")
    assert b.tool_texts() == ["there"]
    assert [one.seconds for one in b.sink.of(ToolRetried)] == [0.5, 1.0]
    assert len({context.idempotency_key for context in flaky.contexts}) == 1


async def test_a_failure_that_cannot_pass_is_not_tried_again() -> None:
    broken = FakeTool("broken", lambda _: ToolResult("no", ok=False), on_failure="retry", retries=3)
    b = bench(ScriptedModel(calls(call("c1", "broken")), text("ok")), broken)
    await b.session.turn("hi")
    assert len(broken.contexts) == 1


async def test_every_call_has_its_own_idempotency_key() -> None:
    tool = FakeTool("t", lambda _: "x", effect="write")
    wanted = calls(call("c1", "t"), call("c2", "t"))
    b = bench(ScriptedModel(wanted, wanted, text("ok")), tool)
    await b.session.turn("hi")
    keys = [context.idempotency_key for context in tool.contexts]
    assert len(set(keys)) == 4
    assert keys == [one.idempotency_key for one in b.sink.of(ToolStarted)]


async def test_a_long_result_is_shown_in_part_and_kept_whole() -> None:
    whole = "".join(f"line {n}\n" for n in range(10_000))
    b = bench(ScriptedModel(calls(call("c1", "big")), text("ok")), FakeTool("big", lambda _: whole))
    await b.session.turn("hi")
    [shown] = b.tool_texts()
    assert len(shown) < 17_000
    assert shown.startswith("line 0\n")
    assert shown.endswith("line 9999\n")
    [finished] = b.sink.of(ToolFinished)
    assert finished.size == len(whole)
    assert finished.stored is not None
    assert finished.stored in shown
    assert b.results.get(finished.stored) == whole


async def test_what_no_utf8_can_carry_is_replaced() -> None:
    b = bench(ScriptedModel(calls(call("c1", "odd")), text("ok")), FakeTool("odd", lambda _: "a\ud800b"))
    await b.session.turn("hi")
    "".join(b.tool_texts()).encode()
    assert b.tool_texts()[0].startswith("a")


async def test_output_is_shown_while_the_tool_runs() -> None:
    class Chatty(FakeTool):
        async def run(self, arguments: object, context: ToolContext) -> ToolResult:
            context.output("half way")
            return ToolResult("done")

    b = bench(ScriptedModel(calls(call("c1", "chatty")), text("ok")), Chatty("chatty", lambda _: ""))
    await b.session.turn("hi")
    assert ToolOutput("c1", "half way") in b.sink.deltas


async def test_an_effect_that_nobody_may_approve_is_denied() -> None:
    write = FakeTool("write", lambda _: "written", effect="write")
    model = ScriptedModel(calls(call("c1", "write"), call("c2", "echo", '{"text": "a"}')), text("ok"))
    b = bench(model, write, echo(), approver=AllowEffects({"read"}))
    assert (await b.session.turn("hi")).answer == "ok"
    [rejected] = b.sink.of(IntentRejected)
    assert rejected.reason == "denied"
    assert write.contexts == []


class _Answers:
    def __init__(self, approval: Approval) -> None:
        self.approval = approval
        self.requests: list[ApprovalRequest] = []

    def judge(self, request: ApprovalRequest) -> Verdict:
        return NeedsPerson("a test asks")

    async def ask(
        self, request: ApprovalRequest, preview: Preview | None, verdict: NeedsPerson, revise: Revise
    ) -> Approval:
        assert preview is not None
        self.requests.append(request)
        return self.approval


async def test_the_approver_may_change_the_arguments() -> None:
    write = FakeTool("write", lambda arguments: f"wrote {arguments['path']}", effect="write")
    b = bench(
        ScriptedModel(calls(call("c1", "write", '{"path": "a"}')), text("ok")),
        write,
        approver=_Answers(Approved(arguments={"path": "b"})),
    )
    await b.session.turn("hi")
    assert b.tool_texts() == [
        '[The user changed the arguments of this call before it ran: {"path": "b"}]\nwrote b'
    ]
    [asked], [resolved] = b.sink.of(ApprovalRequested), b.sink.of(ApprovalResolved)
    assert (asked.arguments, asked.why) == ({"path": "a"}, "a test asks")
    assert (resolved.allowed, resolved.arguments) == (True, {"path": "b"})


class _Unchecked(_Answers):
    """Lets anything run with the arguments it likes; one path is forbidden by a rule."""

    def judge(self, request: ApprovalRequest) -> Verdict:
        if request.arguments.get("path") == "x":
            return Refused("Denied: the rule deny write(x) says so.")
        return NeedsPerson("a test asks")


class _Revises(_Unchecked):
    """A person who changes the arguments, sees what that would do, and says yes."""

    def __init__(self, *changes: dict[str, Any]) -> None:
        super().__init__(Approved())
        self.changes = changes
        self.told: list[str] = []

    async def ask(
        self, request: ApprovalRequest, preview: Preview | None, verdict: NeedsPerson, revise: Revise
    ) -> Approval:
        arguments = None
        for change in self.changes:
            try:
                revised = await revise(change)
            except ValueError as error:
                self.told.append(str(error))
            else:
                assert revised.preview is not None
                self.told.append(revised.preview.text)
                arguments = revised.arguments
        return Approved(arguments=arguments)


def _writing() -> tuple[FakeTool, ScriptedModel]:
    write = FakeTool(
        "write", lambda arguments: f"wrote {arguments['path']}", effect="write", required=("path",)
    )
    return write, ScriptedModel(calls(call("c1", "write", '{"path": "a"}')), text("ok"))


async def test_changed_arguments_are_checked_by_the_tool_and_by_the_rules() -> None:
    write, model = _writing()
    approver = _Revises({}, {"path": "x"}, {"path": "b"})
    b = bench(model, write, approver=approver)
    await b.session.turn("hi")
    assert approver.told == [
        "missing argument 'path'",
        "Denied: the rule deny write(x) says so.",
        "would do write",
    ]
    [told] = b.tool_texts()
    assert told.endswith("\nwrote b")


@pytest.mark.parametrize("changed", [{}, {"path": "x"}])
async def test_changed_arguments_that_nobody_checked_are_checked_before_they_run(
    changed: dict[str, Any],
) -> None:
    write, model = _writing()
    b = bench(model, write, approver=_Unchecked(Approved(arguments=changed)))
    await b.session.turn("hi")
    assert write.contexts == []
    [rejected], [resolved] = b.sink.of(IntentRejected), b.sink.of(ApprovalResolved)
    assert rejected.reason == "denied"
    assert not resolved.allowed
    assert "the user changed the arguments" in b.tool_texts()[0]


async def test_arguments_that_were_edited_into_the_same_are_not_changed() -> None:
    write, model = _writing()
    b = bench(model, write, approver=_Answers(Approved(arguments={"path": "a"})))
    await b.session.turn("hi")
    assert b.tool_texts() == ["wrote a"]
    assert b.sink.of(ApprovalResolved)[0].arguments is None


async def test_r47_credentials_in_results_and_arguments_are_masked_for_all_but_the_tool() -> None:
    seen: list[Any] = []

    def run(arguments: Mapping[str, Any]) -> str:
        seen.append(arguments["text"])
        return "OPENAI_API_KEY=sk-TEST456\nPATH=/bin" + " " * 20_000

    tool = FakeTool("env", run)
    model = ScriptedModel(calls(call("c1", "env", '{"text": "use sk-TEST456"}')), text("ok"))
    b = bench(model, tool)
    await b.session.turn("my key is sk-TEST456")
    assert seen == ["use sk-TEST456"]
    assert b.tool_texts()[0].startswith("OPENAI_API_KEY=[masked]\nPATH=/bin")
    kept = "".join(entry.to_json() for entry in b.sink.entries) + str(b.results.texts) + str(model.queries)
    assert "TEST456" not in kept


async def test_a_final_denial_fails_the_turn() -> None:
    write = FakeTool("write", lambda _: "written", effect="write")
    b = bench(ScriptedModel(calls(call("c1", "write"))), write, approver=_Answers(Denied("no", final=True)))
    outcome = await b.session.turn("hi")
    assert (outcome.kind, outcome.reason) == ("failed", "permission_denied")
    assert violations(b.messages()) == []


async def test_nobody_is_asked_about_a_call_that_could_not_run_anyway() -> None:
    approver = _Answers(Approved())
    b = bench(ScriptedModel(calls(call("c1", "echo", "{}")), text("ok")), echo(), approver=approver)
    await b.session.turn("hi")
    assert approver.requests == []


@pytest.mark.parametrize("arguments", ["", " "])
async def test_r07_empty_arguments_are_no_arguments(arguments: str) -> None:
    tick = FakeTool("tick", lambda arguments: f"ticked {dict(arguments)}")
    model = ScriptedModel(calls(call("c1", "tick", arguments)), text("ok"))
    b = bench(model, tick)
    await b.session.turn("hi")
    assert b.tool_texts() == ["ticked {}"]
    assert model.queries[1].messages[-2].calls[0].arguments == "{}"  # type: ignore[union-attr]
