"""Goes back to before a turn of the session that runs, on request with the files that were changed since."""

from __future__ import annotations

from dataclasses import dataclass

from agent_chat.cli.undo import take_back
from agent_chat.core.errors import UserError
from agent_chat.core.events import Rewound
from agent_chat.core.ports import ContentStore
from agent_chat.core.state import KeptTurn, State
from agent_chat.engine.session import Session
from agent_chat.ui.phrases import count


@dataclass(frozen=True, slots=True)
class WentBack:
    text: str
    """The user message that the first of the turns taken back began with."""
    told: str
    """For the user."""


def go_back(session: Session, contents: ContentStore, number: int | None, *, files: bool) -> WentBack:
    """Takes the turns from `number` on back; None is the last one. Raises UserError; files that were taken
    back by then stay so, and that is said."""
    state = session.runtime.journal.state
    turn, turns = _turns_from(state, number)
    told = [f"Back to before turn {turn.number}: {count(turns, 'turn')} taken back; the log keeps them."]
    if files:
        told += _take_files_back(session, contents, turn)
    elif left := sum(seq > turn.seq for seq in state.changes):
        told.append(f"{count(left, 'change')} of files since then stay as they are; /undo takes them back.")
    session.record_soon(Rewound(to_turn=turn.number, turns=turns))
    return WentBack(turn.text, "\n".join(told))


def _turns_from(state: State, number: int | None) -> tuple[KeptTurn, int]:
    """The turn, and how many there are from it on."""
    if not state.turns:
        raise UserError("There is no turn to go back from.")
    wanted = state.turns[-1].number if number is None else number
    for place, turn in enumerate(state.turns):
        if turn.number == wanted:
            return turn, len(state.turns) - place
    numbers = ", ".join(str(turn.number) for turn in state.turns[-10:])
    raise UserError(
        f"There is no turn {wanted} in this conversation.", hint=f"Its last turns are: {numbers}."
    )


def _take_files_back(session: Session, contents: ContentStore, turn: KeptTurn) -> list[str]:
    """The last change first."""
    told: list[str] = []
    changes = session.runtime.journal.state.changes
    while any(seq > turn.seq for seq in changes):
        try:
            taken = take_back(changes, contents, force=False, how="/undo force")
        except UserError as error:
            message = "\n".join((*told, error.message, "The conversation stays where it is."))
            raise UserError(message, hint=error.hint) from error
        session.record_soon(taken.event)
        told.append(taken.told)
    return told
