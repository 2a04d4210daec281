"""What the runtime decides from: a fold over the log, never inferred from messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent_chat.core.budget import Spent
from agent_chat.core.events import (
    ChangeUndone,
    CompactionFailed,
    CompactionUndone,
    ContextCompacted,
    ContextShortened,
    CostUnknown,
    Entry,
    FileChanged,
    IntentRejected,
    IterationStarted,
    JobReplied,
    LimitName,
    LimitWarning,
    ModelReplied,
    ReplyDiscarded,
    Rewound,
    Scope,
    SessionTitled,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    UserSaid,
)
from agent_chat.core.tokens import WindowMeter

Phase = Literal["ready", "thinking", "acting", "observing", "finished", "stopped", "suspended"]


@dataclass(slots=True)
class KeptTurn:
    """A turn that was not taken back."""

    number: int
    seq: int
    """Of its first entry."""
    text: str = ""
    """The user message that it began with."""


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
        self.window = WindowMeter()
        self.titled = False
        self.compaction_undone = False
        """The user wants to see everything: no compaction unless it is asked for."""
        self.compaction_failed_at = 0
        """Tokens of a request when the last summary failed; 0 where it did not."""
        self.turns: list[KeptTurn] = []
        """The turns that the messages are made of, in order."""

    def apply(self, entry: Entry) -> None:
        self.seq, self.turn, self.iteration = entry.seq, entry.turn, entry.iteration
        self.window.apply(entry.event)
        match entry.event:
            case TurnStarted():
                self.phase = "ready"
                self.turn_spent = Spent()
                self.chat_end_asked = False
                self.warned = {warning for warning in self.warned if warning[0] == "session"}
                self.turns.append(KeptTurn(entry.turn, entry.seq))
            case UserSaid(text=text):
                if self.turns and not self.turns[-1].text:
                    self.turns[-1].text = text
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
            case JobReplied() as reply:
                self.session_spent.add_reply(reply.usage, reply.cost_usd)
                if reply.job == "compaction" and self.phase not in ("finished", "stopped"):
                    self.turn_spent.add_reply(reply.usage, reply.cost_usd)
            case SessionTitled():
                self.titled = True
            case ContextCompacted() | ContextShortened():
                self.compaction_undone, self.compaction_failed_at = False, 0
            case CompactionFailed() as failed:
                self.compaction_failed_at = failed.tokens
            case CompactionUndone():
                self.compaction_undone = True
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
            case Rewound() as rewound:
                if 0 < rewound.turns <= len(self.turns):
                    del self.turns[-rewound.turns :]
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
