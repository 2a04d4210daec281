"""The engine's pen: gives events their place, keeps state and messages in step, and tells the sink."""

from __future__ import annotations

from collections.abc import Iterable

from agent_chat.core.events import Entry, Event, IterationStarted, ToolFinished, TurnStarted
from agent_chat.core.messages import Message
from agent_chat.core.model import Delta, ToolOutput
from agent_chat.core.ports import Clock, EventSink
from agent_chat.core.projection import Projection
from agent_chat.core.redacted import redacted
from agent_chat.core.redaction import RedactedStream, Redactor
from agent_chat.core.state import State


class Journal:
    """Nothing that is written, shown or sent to a model from here holds a credential that `redact` knows."""

    def __init__(
        self, session_id: str, sink: EventSink, clock: Clock, redact: Redactor | None = None
    ) -> None:
        self.session_id = session_id
        self.state = State()
        self._projection = Projection()
        self._sink = sink
        self._clock = clock
        self.redact = redact or Redactor()
        self._outputs: dict[str, RedactedStream] = {}
        """What running tools print, by call."""

    def restore(self, entries: Iterable[Entry]) -> None:
        """Takes up a session where its log ends."""
        for entry in entries:
            self._keep(entry)

    async def record(self, event: Event) -> None:
        """Writes an event. When this returns the sink has it."""
        await self.tell(self.enter(event))

    async def tell(self, entry: Entry) -> None:
        """The second half of `record`."""
        await self._sink.emit(entry)

    def enter(self, event: Event) -> Entry:
        """The first half of `record`: from now on state and messages know of it."""
        event = redacted(event, self.redact)
        state = self.state
        turn, iteration = state.turn, state.iteration
        match event:
            case TurnStarted():
                turn, iteration = turn + 1, 0
            case IterationStarted():
                iteration += 1
            case ToolFinished():
                self._outputs.pop(event.call_id, None)
            case _:
                pass
        entry = Entry(state.seq + 1, self._clock.now(), self.session_id, turn, iteration, event)
        # Before the sink is awaited: tools that run together also record together.
        self._keep(entry)
        return entry

    def show(self, delta: Delta) -> None:
        """The model's own text is passed on as it comes: what the model was given holds no credential."""
        if isinstance(delta, ToolOutput):
            stream = self._outputs.get(delta.call_id)
            if stream is None:
                stream = self._outputs[delta.call_id] = RedactedStream(self.redact)
            delta = ToolOutput(delta.call_id, stream.feed(delta.text))
            if not delta.text:
                return
        self._sink.show(delta)

    def messages(self) -> tuple[Message, ...]:
        return self._projection.messages()

    @property
    def pins(self) -> tuple[str, ...]:
        """Texts that outlast every compaction."""
        return self._projection.pins

    def messages_before_compaction(self) -> tuple[Message, ...] | None:
        """The messages as they would be without the last compaction; None where there is none to undo."""
        return self._projection.whole() if self._projection.compacted else None

    def _keep(self, entry: Entry) -> None:
        self.state.apply(entry)
        self._projection.apply(entry.event)
