"""A session that tells a face of what happens, and what a view would show of single events."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from agent_chat.core.budget import Limits, Spent
from agent_chat.core.context import ContextUse
from agent_chat.core.errors import UserError
from agent_chat.core.events import Entry, Event
from agent_chat.core.model import Delta
from agent_chat.core.permissions import ALL_EFFECTS, AllowEffects
from agent_chat.core.ports import ChatModel, EventSink
from agent_chat.engine.journal import Journal
from agent_chat.engine.runtime import Rules, Runtime
from agent_chat.engine.session import Session
from agent_chat.ui.commands import Booked, ServerInfo, SessionInfo, ToolInfo
from agent_chat.ui.shown import Note, NoteKind, Shown
from agent_chat.ui.stdout import Output
from agent_chat.ui.view import View
from support.engine import INFO, Box, FakeTool, Inputs, ManualClock, Results


def entry(event: Event, *, turn: int = 1, iteration: int = 1) -> Entry:
    return Entry(1, 0.0, "s1", turn, iteration, event)


def notes(shown: Iterable[Shown]) -> list[tuple[NoteKind, str]]:
    return [(one.kind, one.text) for one in shown if isinstance(one, Note)]


class ViewSink:
    """Keeps what a view shows."""

    def __init__(self, *, conversation: bool = True, verbose: bool = False) -> None:
        self.view = View(conversation=conversation, verbose=verbose)
        self.shown: list[Shown] = []

    async def emit(self, entry: Entry) -> None:
        self.shown.extend(self.view.entry(entry))

    def show(self, delta: Delta) -> None:
        self.shown.extend(self.view.delta(delta))


def session(model: ChatModel, sink: EventSink, *tools: FakeTool, turn: Limits | None = None) -> Session:
    """A session whose sink is the face."""
    clock = ManualClock()
    rules = Rules(turn=turn or Limits(iterations=50))
    return Session(
        Runtime(
            model,
            Box(tools),
            AllowEffects(ALL_EFFECTS),
            Results(),
            clock,
            rules,
            Journal("s1", sink, clock),
        )
    )


async def converse(session: Session, *lines: str) -> None:
    await session.start(INFO)
    await session.run(Inputs(*lines))


class FakeControls:
    """A session that commands can be tried on."""

    def __init__(self) -> None:
        self.current = "main"
        self.tool_list: list[ToolInfo] = []
        self.servers: list[ServerInfo] = []
        self.spent_so_far = Spent()
        self.both_limits = (Limits(), Limits())
        self.past: list[SessionInfo] = []
        self.bookings: list[Booked] = []
        self.resumed = ""
        self.context_use = ContextUse(None, {"user": 10}, counted=False)
        self.undone = 0
        self.changed_since = False
        self.rewound: list[tuple[int | None, bool]] = []

    def model(self) -> str:
        return self.current

    def models(self) -> Sequence[str]:
        return ("main", "backup")

    def set_model(self, name: str) -> None:
        if name not in self.models():
            raise UserError(f"There is no model {name}.", hint="Did you mean backup?")
        self.current = name

    def tools(self) -> Sequence[ToolInfo]:
        return self.tool_list

    def mcp(self) -> Sequence[ServerInfo]:
        return self.servers

    def spent(self) -> Spent:
        return self.spent_so_far

    def limits(self) -> tuple[Limits, Limits]:
        return self.both_limits

    def system(self) -> str:
        return "You help."

    def sessions(self, query: str) -> Sequence[SessionInfo]:
        return [one for one in self.past if query in one.title]

    def fork(self, turn: int | None) -> str:
        if turn == 9:
            raise UserError("There is no turn 9 in this session.")
        return f"Going on in a copy, from before turn {turn}."

    def export(self, argument: str) -> str:
        return f"Written: {argument}"

    def booked(self) -> Sequence[Booked]:
        return self.bookings

    def undo(self, *, force: bool) -> str:
        if self.changed_since and not force:
            raise UserError("a.py was changed by something else since.", hint="/undo force does it.")
        self.undone += 1
        return "a.py is as it was."

    def rewind(self, turn: int | None, *, files: bool) -> tuple[str, str]:
        if turn == 9:
            raise UserError("There is no turn 9 in this conversation.", hint="Its last turns are: 1, 2.")
        self.rewound.append((turn, files))
        return "what was said", f"Back to before turn {turn or 2}."

    def context(self) -> ContextUse:
        return self.context_use

    def uncompact(self) -> str:
        raise UserError("There is no compaction to take back.")

    def pin(self) -> str:
        return "Pinned: hello"

    def resume(self, session_id: str) -> None:
        self.resumed = session_id


class Stream:
    """A standard stream that is no terminal and remembers its bytes."""

    def __init__(self, encoding: str = "utf-8") -> None:
        self._raw = io.BytesIO()
        self.output = Output(io.TextIOWrapper(self._raw, encoding=encoding))

    @property
    def bytes(self) -> bytes:
        return self._raw.getvalue()

    @property
    def text(self) -> str:
        return self._raw.getvalue().decode("utf-8")
