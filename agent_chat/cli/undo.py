"""Takes back what tools changed in files, of the session that runs or of a past one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_chat.core.errors import UserError
from agent_chat.core.events import ChangeUndone, FileChanged
from agent_chat.core.ports import ContentStore
from agent_chat.core.state import State
from agent_chat.sessions.origins import Origin
from agent_chat.sessions.store import SessionStore
from agent_chat.ui.sanitize import one_line


@dataclass(frozen=True, slots=True)
class TakenBack:
    event: ChangeUndone
    """What is to be recorded."""
    told: str
    """For the user."""


def take_back(
    changes: Mapping[int, FileChanged], contents: ContentStore, *, force: bool, how: str
) -> TakenBack:
    """Takes the last change back. `how` says how the user forces it. Raises UserError."""
    from agent_chat.tools.errors import ToolError
    from agent_chat.tools.undo import ChangedSince, undo_change
    from agent_chat.tools.workspace import Workspace

    if not changes:
        raise UserError("No change of a file is left to take back.")
    seq = max(changes)
    change = changes[seq]
    path = one_line(change.path)
    try:
        undone = undo_change(Workspace(Path(change.workspace)), contents, change, force=force)
    except ChangedSince as error:
        raise UserError(
            f"{path} was changed by something else since: it stays as it is.",
            hint=f"{how} takes the change back all the same.",
        ) from error
    except ToolError as error:
        raise UserError(f"The last change cannot be taken back: {one_line(str(error))}.") from error
    event = ChangeUndone(change=seq, path=change.path, before=undone.before, after=undone.after)
    if undone.was_so:
        return TakenBack(event, f"{path} is already as it was before its last change.")
    if undone.after is None:
        return TakenBack(event, f"{path} is removed again: it was a new file.")
    return TakenBack(
        event, f"{path} is as it was before its last change: +{change.removed:,} -{change.added:,}."
    )


def keep_own_changes(state: State, origin: Origin | None) -> None:
    """Leaves the changes of an imported session out of what can be taken back: they were made elsewhere, and
    the files that they name here may be any."""
    if origin is not None and origin.kind == "import":
        for seq in [seq for seq in state.changes if seq <= origin.events]:
            del state.changes[seq]


def take_back_past(store: SessionStore, session_id: str, count: int | None, *, force: bool) -> Iterator[str]:
    """Takes the last changes of a past session back, all where `count` is None; a line for each. Raises
    UserError."""
    import asyncio

    from agent_chat.engine.clock import SystemClock
    from agent_chat.engine.journal import Journal

    log, entries = store.resume(session_id)
    try:
        journal = Journal(session_id, log, SystemClock())
        journal.restore(entries)
        keep_own_changes(journal.state, store.origin(session_id))
        for _ in range(len(journal.state.changes) if count is None else count):
            taken = take_back(journal.state.changes, store.contents, force=force, how="--force")
            asyncio.run(journal.record(taken.event))
            yield taken.told
    finally:
        log.close()
