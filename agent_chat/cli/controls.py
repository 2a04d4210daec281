"""What slash commands may ask of the session that runs."""

from __future__ import annotations

from collections.abc import Sequence

from agent_chat.cli.load_settings import Loaded
from agent_chat.cli.wiring import Opened
from agent_chat.core.budget import Limits, Spent
from agent_chat.core.context import ContextUse, context_use, last_turn
from agent_chat.core.context_events import TurnPinned
from agent_chat.core.errors import UserError
from agent_chat.core.messages import SystemMessage
from agent_chat.core.outcome import CancelReason
from agent_chat.engine.compaction import request_tokens, undo_compaction
from agent_chat.sessions.store import SessionStore
from agent_chat.sessions.summary import SessionSummary
from agent_chat.ui.commands import Booked, ServerInfo, SessionInfo, ToolInfo
from agent_chat.ui.phrases import cut
from agent_chat.ui.sanitize import one_line

SHOWN_SESSIONS = 20


class SessionControls:
    """Satisfies `ui.commands.Controls` for the session that was attached last."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._opened: Opened | None = None
        self.wanted: str | None = None
        """The session that the user wants instead of this one."""
        self._listed: list[str] = []
        """The sessions that were listed last, which may be asked for by their number."""

    def attach(self, opened: Opened) -> None:
        self._opened = opened
        self.wanted = None

    @property
    def opened(self) -> Opened:
        if self._opened is None:
            raise UserError("The session is still starting.", hint="Try again in a moment.")
        return self._opened

    def interrupt(self, reason: CancelReason = "interrupted") -> bool:
        """Stops the turn that runs; false where none does."""
        return self._opened is not None and self._opened.session.interrupt(reason)

    def model(self) -> str:
        return self.opened.session.runtime.model.name

    def models(self) -> Sequence[str]:
        return self.opened.models.names()

    def set_model(self, name: str) -> None:
        runtime = self.opened.session.runtime
        runtime.model = self.opened.models.named(name)
        runtime.prefix.forget()  # that another provider has nothing in its cache is no surprise

    def tools(self) -> Sequence[ToolInfo]:
        toolbox = self.opened.session.runtime.toolbox
        found = ((spec, toolbox.get(spec.name)) for spec in toolbox.specs())
        return [ToolInfo(spec.name, tool.effect, spec.description) for spec, tool in found if tool]

    def mcp(self) -> Sequence[ServerInfo]:
        servers = self.opened.servers
        if servers is None:
            return ()
        return [
            ServerInfo(
                info.name, info.state, info.reason, info.where, tuple(tool.spec.name for tool in info.tools)
            )
            for info in servers.infos()
        ]

    def spent(self) -> Spent:
        return self.opened.session.runtime.journal.state.session_spent

    def limits(self) -> tuple[Limits, Limits]:
        rules = self.opened.session.runtime.rules
        return rules.turn, rules.session

    def system(self) -> str:
        first = self.opened.session.runtime.journal.messages()[:1]
        return first[0].text if first and isinstance(first[0], SystemMessage) else ""

    def sessions(self, query: str) -> Sequence[SessionInfo]:
        store = self.opened.sessions
        if not isinstance(store, SessionStore):
            return []
        infos = _found(store, query) if query else _latest(store)
        self._listed = [info.session_id for info in infos]
        return infos

    def fork(self, turn: int | None) -> str:
        from agent_chat.cli.current_session import fork_session_of

        self.wanted = fork_session_of(self.opened, turn)
        return f"Going on in session {self.wanted}; {self.opened.log.session_id} stays as it is."

    def export(self, argument: str) -> str:
        from agent_chat.cli.current_session import export_session

        return export_session(self.opened, argument)

    def booked(self) -> Sequence[Booked]:
        from agent_chat.cli.current_session import booked

        return booked(self.opened)

    def undo(self, *, force: bool) -> str:
        from agent_chat.cli.undo import take_back

        session = self.opened.session
        taken = take_back(
            session.runtime.journal.state.changes,
            self.opened.sessions.contents,
            force=force,
            how="/undo force",
        )
        session.record_soon(taken.event)
        return taken.told

    def rewind(self, turn: int | None, *, files: bool) -> tuple[str, str]:
        from agent_chat.cli.rewind import go_back

        opened = self.opened
        back = go_back(opened.session, opened.sessions.contents, turn, files=files)
        return back.text, back.told

    def context(self) -> ContextUse:
        runtime = self.opened.session.runtime
        told = runtime.journal.state.window.told
        known = request_tokens(runtime) if told else None
        return context_use(runtime.journal.messages(), runtime.toolbox.specs(), known, runtime.window())

    def uncompact(self) -> str:
        session = self.opened.session
        event = undo_compaction(session.runtime)
        if event is None:
            raise UserError("There is no compaction to take back.")
        session.record_soon(event)
        return "No summary is written unasked from now on, until there is one again. /compact writes one."

    def pin(self) -> str:
        session = self.opened.session
        said, answer = last_turn(session.runtime.journal.messages())
        if not said:
            raise UserError("There is no turn yet that could be pinned.")
        session.record_soon(TurnPinned(text=f"{said}\n\n[The answer:]\n{answer}" if answer else said))
        return f"Pinned: {cut(one_line(said), 100)}"

    def resume(self, session_id: str) -> None:
        # No id is as short as a number in a list.
        if session_id.isdecimal() and 0 < int(session_id) <= len(self._listed):
            session_id = self._listed[int(session_id) - 1]
        wanted = self.opened.sessions.resolve(session_id)
        if wanted == self.opened.log.session_id:
            raise UserError("This is that session.")
        self.wanted = wanted


def _latest(store: SessionStore) -> list[SessionInfo]:
    return [_info(summary, "") for summary in store.list(SHOWN_SESSIONS)]


def _found(store: SessionStore, query: str) -> list[SessionInfo]:
    from agent_chat.sessions.search import search_sessions

    return [
        _info(found.session, found.hits[-1].snippet)
        for found in search_sessions(store, query, SHOWN_SESSIONS)
    ]


def _info(summary: SessionSummary, passage: str) -> SessionInfo:
    return SessionInfo(summary.id, summary.last, summary.turns, summary.title, passage)
