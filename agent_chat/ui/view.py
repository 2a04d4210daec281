"""From what happens to what is shown. Decides words and order, not colors or places; no I/O."""

from __future__ import annotations

from typing import assert_never

from agent_chat.core.events import (
    ApprovalRequested,
    ApprovalResolved,
    AttemptFailed,
    AttemptStarted,
    CacheMissed,
    ChangeUndone,
    CompactionFailed,
    CompactionStarted,
    CompactionUndone,
    ContextCompacted,
    ContextShortened,
    ContextThinned,
    CostUnknown,
    Entry,
    Event,
    FileChanged,
    IntentRejected,
    IterationEnded,
    IterationStarted,
    JobReplied,
    LimitWarning,
    ModelReplied,
    ModelSwitched,
    Notice,
    ParameterDropped,
    ReplyDiscarded,
    ReplyInterrupted,
    RetryWaiting,
    Rewound,
    SessionEnded,
    SessionResumed,
    SessionStarted,
    SessionTitled,
    ToolFinished,
    ToolRetried,
    ToolStarted,
    TurnEnded,
    TurnPinned,
    TurnStarted,
    UnknownEvent,
    UserSaid,
)
from agent_chat.core.model import CallDelta, Delta, ReasoningDelta, TextDelta, ToolOutput
from agent_chat.ui import phrases
from agent_chat.ui.context import ContextEvent, context_lines
from agent_chat.ui.sanitize import one_line, visible
from agent_chat.ui.shown import Note, NoteKind, Reasoning, Shown, Text, TextEnd, ToolText

COLUMNS = 600
"""Characters of a line about a tool; a terminal wraps it."""


class View:
    """A fold over entries and deltas, in order.

    `status` says what runs right now, in a few words; empty between turns.
    """

    def __init__(self, *, conversation: bool, verbose: bool = False, asks: bool = False) -> None:
        """`conversation`: there may be a next message. `verbose`: longer results. `asks`: the face itself
        puts to its user what has to be approved."""
        self.status = ""
        self.verbose = verbose
        self._conversation = conversation
        self._asks = asks
        self._session_id = ""
        self._streaming = False
        """Whether a reply is being written of which some text was shown."""
        self._replied: list[str] = []
        """The texts of the turn's replies."""
        self._heard = False
        """Whether the turn has anything from the model that stays in the messages."""
        self._running: dict[str, str] = {}
        """Names of the tools that run, by call id."""
        self._last_failure = ""
        self._dry_run = False
        self._would_do: dict[str, str] = {}
        """Calls of the turn that a dry run withheld, by id."""

    def delta(self, delta: Delta) -> tuple[Shown, ...]:
        match delta:
            case TextDelta():
                self._streaming = True
                self.status = "answering"
                return (Text(delta.text),)
            case ReasoningDelta():
                self.status = "thinking"
                return (Reasoning(delta.text),)
            case CallDelta():
                self.status = f"writing a call of {phrases.cut(one_line(delta.name), 60)}"
                return ()
            case ToolOutput():
                return (ToolText(self._running.get(delta.call_id, ""), delta.text),)
            case _:
                assert_never(delta)

    def entry(self, entry: Entry) -> tuple[Shown, ...]:
        self._session_id = entry.session_id
        return tuple(self._event(entry.event, entry))

    def _event(self, event: Event, entry: Entry) -> list[Shown]:
        match event:
            case SessionStarted() | SessionResumed():
                return self._session(event)
            case SessionEnded() | IterationEnded():
                return []
            case UserSaid():
                return [Note("user", visible(event.text))]
            case TurnStarted():
                self._replied, self._heard = [], False
                self._would_do = {}
                self.status = "starting"
                return []
            case TurnEnded():
                return self._turn_ended(event)
            case IterationStarted():
                first = entry.iteration <= 1
                return [Note("detail" if first else "step", f"iteration {entry.iteration}")]
            case AttemptStarted() | AttemptFailed() | RetryWaiting() | ModelSwitched() | ParameterDropped():
                return self._model_notice(event)
            case ModelReplied():
                return self._model_replied(event)
            case ReplyDiscarded():
                return [*self._text_ends(discarded=True), Note("warning", _discarded(event))]
            case ReplyInterrupted():
                self._heard |= bool(event.text)
                return self._text_ends()
            case IntentRejected() | ToolStarted() | ToolRetried() | ToolFinished():
                return self._tool(event)
            case FileChanged() | ChangeUndone():
                return [Note("detail", phrases.change(event))]
            case ApprovalRequested() | ApprovalResolved():
                return self._approval(event)
            case LimitWarning():
                return [Note("warning", phrases.limit_warning(event))]
            case CostUnknown():
                model = one_line(event.model)
                return [
                    Note("warning", f"The cost limit cannot be enforced: the price of {model} is unknown.")
                ]
            case ContextShortened():
                return [Note("warning", _shortened(event))]
            case (
                ContextThinned()
                | CompactionStarted()
                | ContextCompacted()
                | CompactionFailed()
                | CompactionUndone()
                | TurnPinned()
                | CacheMissed()
                | JobReplied()
                | SessionTitled()
            ):
                return self._context(event)
            case Rewound():
                return [Note("detail", f"went back to before turn {event.to_turn}")]
            case Notice():
                return [Note("notice", visible(event.message))]
            case UnknownEvent():
                return [Note("detail", f"an event of another version: {one_line(event.type)}")]
            case _:
                assert_never(event)

    def _session(self, event: SessionStarted | SessionResumed) -> list[Shown]:
        self._dry_run = event.dry_run
        verb = "resumed" if isinstance(event, SessionResumed) else "started"
        tools = ", ".join(map(one_line, event.tools)) or "none"
        text = f"session {one_line(self._session_id)} {verb} | {one_line(event.model)} | tools: {tools}"
        return [Note("detail", text)]

    def _model_notice(
        self, event: AttemptStarted | AttemptFailed | RetryWaiting | ModelSwitched | ParameterDropped
    ) -> list[Shown]:
        match event:
            case AttemptStarted():
                model = one_line(event.model)
                self.status = f"asking {model}"
                if event.attempt > 1:
                    return [Note("step", f"asking {model} again (attempt {event.attempt})")]
                return [Note("detail", f"asking {model}")]
            case AttemptFailed():
                self._last_failure = event.message
                model = "" if event.model in event.message else f"{one_line(event.model)}: "
                text = f"attempt {event.attempt} failed: {model}{visible(event.message)}"
                return [*self._text_ends(discarded=True), Note("warning", text)]
            case RetryWaiting():
                wait = phrases.seconds(event.seconds)
                self.status = f"waiting {wait} for {one_line(event.model)}"
                text = f"waiting {wait} before asking {one_line(event.model)} again"
                return [Note("notice", text + self._because(event.message))]
            case ModelSwitched():
                text = f"switching from {one_line(event.from_model)} to {one_line(event.to_model)}"
                return [Note("notice", text + self._because(event.message))]
            case ParameterDropped():
                text = f"{one_line(event.model)} does not take {one_line(event.parameter)}: left out"
                return [Note("notice", text + self._because(event.message))]

    def _because(self, message: str) -> str:
        """A cause, unless it was told just before."""
        return f": {visible(message)}" if message and message != self._last_failure else ""

    def _model_replied(self, event: ModelReplied) -> list[Shown]:
        self._heard |= event.purpose == "answer"
        self._replied.append(event.text)
        shown: list[Shown] = []
        if event.text and not self._streaming:
            self._streaming = True
            shown.append(Text(event.text))
        return [*shown, *self._text_ends()]

    def _text_ends(self, *, discarded: bool = False) -> list[Shown]:
        if not self._streaming:
            return []
        self._streaming = False
        return [TextEnd(discarded)]

    def _tool(self, event: IntentRejected | ToolStarted | ToolRetried | ToolFinished) -> list[Shown]:
        match event:
            case ToolStarted():
                self._running[event.call_id] = event.name
                self._show_running()
                if self._dry_run and event.effect != "read":
                    self._would_do[event.call_id] = phrases.call_line(event.name, event.arguments, 200)
                limit = 2000 if self.verbose else COLUMNS
                return [Note("call", phrases.call_line(event.name, event.arguments, limit))]
            case ToolRetried():
                wait = phrases.seconds(event.seconds)
                name = one_line(event.name)
                text = f"{name}: trying again in {wait} (attempt {event.attempt}): {one_line(event.message)}"
                return [Note("notice", text)]
            case ToolFinished():
                self._running.pop(event.call_id, None)
                self._show_running()
                if not event.ok:
                    self._would_do.pop(event.call_id, None)
                return [self._result(event)]
            case IntentRejected():
                reason = phrases.REJECTIONS[event.reason]
                content = phrases.cut(one_line(event.content), COLUMNS)
                return [Note("failure", f"{one_line(event.name)} not run ({reason}): {content}")]

    def _approval(self, event: ApprovalRequested | ApprovalResolved) -> list[Shown]:
        """What is refused is told with the call that did not run, what is allowed with the one that runs."""
        match event:
            case ApprovalRequested():
                self.status = f"waiting for a yes or no to {phrases.cut(one_line(event.name), 60)}"
                if self._asks:
                    return []
                return [Note("call", phrases.call_line(event.name, event.arguments, COLUMNS))]
            case ApprovalResolved():
                self._show_running()
                told = phrases.approved(event) if event.allowed else ""
                return [Note("notice", told)] if told else []

    def _context(self, event: ContextEvent) -> list[Shown]:
        if isinstance(event, CompactionStarted):
            self.status = "summarizing the earlier part of the conversation"
        elif isinstance(event, ContextCompacted | CompactionFailed):
            self.status = "thinking" if self.status else ""
        return [Note(kind, text) for kind, text in context_lines(event)]

    def _show_running(self) -> None:
        names = ", ".join(phrases.cut(one_line(name), 40) for name in list(self._running.values())[:5])
        self.status = f"running {names}" if names else "thinking"

    def _result(self, event: ToolFinished) -> Note:
        lines = 40 if self.verbose else 3
        text = phrases.result_text(event.content, lines=lines, columns=COLUMNS)
        facts = phrases.seconds(event.duration_s)
        if event.stored is not None:
            facts = f"{event.size:,} characters, kept as {one_line(event.stored)}, {facts}"
        kind: NoteKind = "result" if event.ok else "failure"
        told = event.ok or event.error_type in (None, "error")
        verdict = "" if told else f" {event.error_type}:"
        return Note(kind, f"{one_line(event.name)} ({facts}):{verdict} {text}".rstrip())

    def _turn_ended(self, event: TurnEnded) -> list[Shown]:
        self.status = ""
        self._running = {}
        shown = self._text_ends()
        answer = event.answer.strip()
        if answer and answer not in "".join(self._replied) and event.kind != "cancelled":
            shown.extend((Text(event.answer), TextEnd()))
        if text := phrases.ending(event):
            if self._conversation and not self._heard:
                text = f"{text}\n{phrases.MESSAGE_KEPT}"
            shown.append(Note(_ENDING_KINDS[event.kind], text))
        if self._dry_run:
            shown.append(Note("notice", phrases.dry_run(list(self._would_do.values()))))
        shown.append(Note("closing", phrases.closing(event, self._session_id)))
        return shown


_ENDING_KINDS: dict[str, NoteKind] = {
    "degraded": "error",
    "cancelled": "warning",
    "failed": "error",
    "suspended": "error",
}


def _discarded(event: ReplyDiscarded) -> str:
    model = one_line(event.model)
    match event.reason:
        case "empty":
            return f"{model} returned nothing: neither text nor a tool call."
        case "filtered":
            return f"The content filter of {model} withheld the answer."
        case "no_summary":
            return f"{model} gave no summary."


def _shortened(event: ContextShortened) -> str:
    text = "The context window is full. "
    if event.dropped:
        text += f"From here on the model no longer sees the first {event.dropped:,} messages. "
    return text + "The whole conversation stays in the session."
