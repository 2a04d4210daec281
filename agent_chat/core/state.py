"""What the runtime decides from: a fold over the log, never inferred from messages."""

from __future__ import annotations

from typing import Literal

from agent_chat.core.budget import Spent
from agent_chat.core.events import (
    ChangeUndone,
    CostUnknown,
    Entry,
    FileChanged,
    IntentRejected,
    IterationStarted,
    LimitName,
    LimitWarning,
    ModelReplied,
    ReplyDiscarded,
    Scope,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)

Phase = Literal["ready", "thinking", "acting", "observing", "finished", "stopped", "suspended"]


class State:
    """Phase, counters and budgets of a session, as of the last entry applied."""

    def __init__(self) -> None:
        self.seq = 0
        self.turn = 0
        self.iteration = 0
        self.phase: Phase = "ready"
        self.turn_spent = Spent()
        self.session_spent = Spent()
        self.chat_end_asked = False
        """The model called `end_chat` in the current turn."""
        self.warned: set[tuple[Scope, LimitName]] = set()
        self.cost_warned = False
        """The user knows that a cost limit cannot be enforced."""
        self.unanswered: set[str] = set()
        """Ids of the calls of the last reply that have no observation yet."""
        self.changes: dict[int, FileChanged] = {}
        """Changes of files that were not undone, by seq, in order."""

    def apply(self, entry: Entry) -> None:
        self.seq, self.turn, self.iteration = entry.seq, entry.turn, entry.iteration
        match entry.event:
            case TurnStarted():
                self.phase = "ready"
                self.turn_spent = Spent()
                self.chat_end_asked = False
                self.warned = {warning for warning in self.warned if warning[0] == "session"}
            case IterationStarted():
                self.phase = "thinking"
                self.turn_spent.iterations += 1
                self.session_spent.iterations += 1
            case ModelReplied() as reply:
                self._add_reply(reply)
                self.unanswered = {call.id for call in reply.calls}
                self.phase = "acting" if self.unanswered else self.phase
            case ReplyDiscarded() as reply:
                self._add_reply(reply)
            case ToolStarted():
                self.turn_spent.tool_calls += 1
                self.session_spent.tool_calls += 1
            case ToolFinished() as result:
                self.chat_end_asked |= result.ends_chat
                self._answered(result.call_id)
            case IntentRejected() as rejected:
                self._answered(rejected.call_id)
            case FileChanged() as change:
                self.changes[entry.seq] = change
            case ChangeUndone() as undone:
                self.changes.pop(undone.change, None)
            case CostUnknown():
                self.cost_warned = True
            case LimitWarning() as warning:
                self.warned.add((warning.scope, warning.limit))
            case TurnEnded() as end:
                self.session_spent.time += end.duration_s
                self.phase = "finished" if end.kind == "completed" else "stopped"
                if end.kind == "suspended":
                    self.phase = "suspended"
            case _:
                pass

    def _add_reply(self, reply: ModelReplied | ReplyDiscarded) -> None:
        self.turn_spent.add_reply(reply.usage, reply.cost_usd)
        self.session_spent.add_reply(reply.usage, reply.cost_usd)

    def _answered(self, call_id: str) -> None:
        self.unanswered.discard(call_id)
        if not self.unanswered:
            self.phase = "observing"
