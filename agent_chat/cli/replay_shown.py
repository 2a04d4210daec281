"""A recorded run, shown again as it was: `--replay FILE` of both commands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agent_chat.cli.exit_codes import ExitCode, exit_code
from agent_chat.cli.options import SharedOptions
from agent_chat.cli.replay_again import staged
from agent_chat.core.errors import UserError
from agent_chat.core.events import TurnEnded, TurnStarted, UserSaid
from agent_chat.core.ports import EventSink
from agent_chat.engine.sinks import InOrder
from agent_chat.sessions.memory import MemoryLog
from agent_chat.sessions.recording import Recording, read_recording


class Different(UserError):
    """The loop does not do any more what the recording says."""


async def show_again(path: Path, options: SharedOptions, faces: Sequence[EventSink], asked: str) -> ExitCode:
    """Tells the faces all that the recorded run told them. Returns the code of its last turn.

    `asked`: the prompt that was given again; empty where none was. Raises `Different`, and UserError where
    the recording cannot be read or begins with another prompt.
    """
    recording = read_recording(path)
    _check_prompt(recording, asked, path)
    memory = MemoryLog("")
    sink = InOrder(memory, *faces, on_problem=_raise)
    replay = await staged(recording, options, sink)
    code, done = ExitCode.COMPLETED, 0
    for entry in recording.entries:
        if entry.seq < recording.first or entry.seq <= done:
            continue
        if not isinstance(entry.event, TurnStarted):
            await sink.emit(entry)
            continue
        replayed = await replay.turn(entry.turn)
        if not replayed.is_same:
            raise Different(f"{path}: {replayed.difference or replayed.problem}")
        done = replay.entries_of(entry.turn)[-1].seq
        ends = [one.event for one in memory.entries if isinstance(one.event, TurnEnded)]
        code = exit_code(ends[-1].reason) if ends else code
    return code


def _check_prompt(recording: Recording, asked: str, path: Path) -> None:
    own = (entry.event for entry in recording.entries if entry.seq >= recording.first)
    said = next((event.text for event in own if isinstance(event, UserSaid)), None)
    if said is None:
        raise UserError(f"{path}: there is no message in this recording.")
    if asked and asked != said:
        raise UserError(
            f"{path} was recorded with another prompt.", hint="Leave the prompt out, or record it again."
        )


def _raise(problem: str) -> None:
    raise RuntimeError(problem)
