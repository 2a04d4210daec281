"""The tools of a session without a model: to be listed, shown and tried."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agent_chat.cli.exit_codes import ExitCode
from agent_chat.cli.load_settings import Loaded
from agent_chat.cli.options import SharedOptions
from agent_chat.cli.own_tools import joined, load_own_tools
from agent_chat.cli.policy import open_policy
from agent_chat.cli.secrets import redactor
from agent_chat.cli.toolset import builtin_tools, open_sandbox
from agent_chat.cli.wiring import allowed_tools, nobody, settings_for, workspace_of
from agent_chat.core.approval import Approval, ApprovalRequest, Approved, Denied, NeedsPerson, Preview, Revise
from agent_chat.core.errors import UserError
from agent_chat.core.events import Entry, ToolFinished
from agent_chat.core.messages import ToolCall
from agent_chat.core.model import Delta, Reply, ToolOutput
from agent_chat.core.observation import Effect, ErrorType
from agent_chat.core.permissions import Person, RulePolicy
from agent_chat.core.ports import Tool
from agent_chat.engine.clock import SystemClock
from agent_chat.engine.iteration import replied
from agent_chat.engine.journal import Journal
from agent_chat.engine.runtime import Runtime
from agent_chat.engine.tool_calls import run_intents
from agent_chat.models.scripted import ScriptedModel
from agent_chat.sessions.store import MemorySessions
from agent_chat.tools.threads import in_thread
from agent_chat.tools.tool import FunctionTool
from agent_chat.tools.user_tools import UserTool
from agent_chat.ui.approvals import ApprovalDialog
from agent_chat.ui.kind import face_kind
from agent_chat.ui.phrases import cut
from agent_chat.ui.plain import plain_lines
from agent_chat.ui.sanitize import one_line, revealed, visible
from agent_chat.ui.shown import Note

if TYPE_CHECKING:
    from agent_chat.sandbox.confinement import Sandbox
    from agent_chat.tools.toolbox import NamedToolbox

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """A tool as its user sees it."""

    name: str
    effect: Effect
    is_allowed: bool
    """Whether the model may call it; each call may still need an approval."""
    source: str
    """`built in`, or the file and line."""
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema."""
    timeout: float | None

    @property
    def summary(self) -> str:
        return cut(one_line(self.description.strip().split("\n", 1)[0]), 80)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "effect": self.effect,
            "allowed": self.is_allowed,
            "source": self.source,
            "summary": self.summary,
        }


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of one call."""

    name: str
    ok: bool
    content: str
    error_type: ErrorType | None
    duration_s: float | None
    """None where it did not run."""

    @property
    def code(self) -> ExitCode:
        match self.error_type:
            case None:
                return ExitCode.COMPLETED
            case "unknown_tool" | "not_allowed" | "invalid_arguments":
                return ExitCode.USAGE
            case "denied":
                return ExitCode.NEEDS_PERSON
            case _:
                return ExitCode.FAILED

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "ok": self.ok,
            "content": self.content,
            "error_type": self.error_type,
            "duration_s": self.duration_s,
            "exit_code": int(self.code),
        }


class ToolBench:
    """All tools under some settings. `allowed` are those that the model may call."""

    def __init__(
        self, every: NamedToolbox, allowed: NamedToolbox, policy: RulePolicy, loaded: Loaded
    ) -> None:
        self._every = every
        self._allowed = allowed
        self._policy = policy
        self._loaded = loaded

    def tools(self) -> list[ToolFacts]:
        return [self.tool(name) for name in self._every.names]

    def tool(self, name: str) -> ToolFacts:
        """Raises UserError where there is none of this name."""
        tool = self._every.get(name)
        if tool is None:
            raise UserError(f"There is no tool {name!r}.", hint=f"There are: {', '.join(self._every.names)}.")
        source = tool.origin if isinstance(tool, UserTool) else "built in"
        allowed, spec = self._allowed.get(name) is not None, tool.spec
        return ToolFacts(name, tool.effect, allowed, source, spec.description, spec.parameters, tool.timeout)

    async def call(self, name: str, arguments: str) -> Tried:
        """One call, by the same way as a model's. Raises UserError where there is no such tool."""
        tool = self._every.get(self.tool(name).name)
        sink, clock, sessions = _Sink(tool), SystemClock(), MemorySessions()
        journal = Journal("tools-test", sink, clock, redactor(self._loaded))
        runtime = Runtime(
            ScriptedModel(),
            self._allowed,
            self._policy,
            sessions.results,
            clock,
            self._loaded.agent.to_rules(),
            journal,
        )
        reply = Reply("", (ToolCall("call-1", name, arguments),), "tool_calls")
        await journal.record(replied(reply, 0.0, "answer"))
        [observed] = await run_intents(runtime, reply)
        seen = observed.observation
        return Tried(name, seen.ok, seen.content, seen.error_type, sink.duration_s)


def run_with(
    tools_from: Sequence[str] | None,
    config: str | None,
    workspace: str | None,
    use: Callable[[ToolBench], Awaitable[T]],
    *,
    yes: bool = False,
) -> T:
    """Opens the tools as a session would, uses them, and frees what they hold. Raises UserError."""
    options = SharedOptions(tools_from=list(tools_from or ()), config=config, workspace=workspace)
    return asyncio.run(_run(options, use, _person(yes=yes)))


async def _run(options: SharedOptions, use: Callable[[ToolBench], Awaitable[T]], person: Person) -> T:
    loaded, folder = settings_for(options), workspace_of(options)
    for warning in loaded.warnings:
        _say(warning)
    own = await load_own_tools(options.tools_from, options.config, loaded, folder, _say)
    sandbox = open_sandbox(loaded, folder)
    try:
        return await use(_bench(loaded, folder, sandbox, own, person))
    finally:
        sandbox.close()


def _bench(
    loaded: Loaded, workspace: Path, sandbox: Sandbox, own: Sequence[FunctionTool], person: Person
) -> ToolBench:
    policy = open_policy(loaded, workspace, person, sandboxed=False, on_problem=_say)
    sessions = MemorySessions()
    program = builtin_tools(
        workspace, sandbox, nobody, sessions.results, sessions.contents, SystemClock(), loaded, policy.judge
    )
    every = joined(program, own, _say)
    return ToolBench(every, allowed_tools(every, own, loaded, policy), policy, loaded)


def _person(*, yes: bool) -> Person:
    if yes:
        return _Yes()
    is_terminal = face_kind(sys.stdin, sys.stderr, os.environ) != "pipe"
    return ApprovalDialog(_Desk()) if is_terminal else _NeedsYes()


class _Yes:
    """A `Person` who has said yes already."""

    async def ask(
        self,
        request: ApprovalRequest,
        preview: Preview | None,
        verdict: NeedsPerson,
        rule: str | None,
        revise: Revise,
    ) -> Approval:
        return Approved()


class _NeedsYes:
    """The `Person` of scripts."""

    async def ask(
        self,
        request: ApprovalRequest,
        preview: Preview | None,
        verdict: NeedsPerson,
        rule: str | None,
        revise: Revise,
    ) -> Approval:
        return Denied(f"Not run: {verdict.why}, and nobody can be asked here. --yes runs it.")


class _Desk:
    """Asks on the terminal, a line at a time."""

    async def answer(self, notes: Sequence[Note], *, initial: str = "") -> str | None:
        for note in notes:
            _write(f"{plain_lines(note)}\n")
        if initial:
            _write(f"It is now, and stays so with a line of one =:\n{revealed(initial)}\n")
        _forget_what_was_typed()
        _write("? ")
        # Not in the loop's own threads, which would keep the program until a line comes.
        line = await in_thread(sys.stdin.readline)
        text = line.strip()
        return None if not line else initial if initial and text == "=" else text


class _Sink:
    """Shows what a tool of the user's own prints."""

    def __init__(self, tool: Tool | None) -> None:
        self._shows = isinstance(tool, UserTool)
        self.duration_s: float | None = None

    async def emit(self, entry: Entry) -> None:
        match entry.event:
            case ToolFinished():
                self.duration_s = entry.event.duration_s
            case _:
                pass

    def show(self, delta: Delta) -> None:
        if self._shows and isinstance(delta, ToolOutput):
            _write(revealed(delta.text))


def _forget_what_was_typed() -> None:
    if sys.platform != "win32":
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _say(text: str) -> None:
    _write(f"{visible(text)}\n")
