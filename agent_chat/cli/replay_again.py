"""The same again: every turn of a log through the loop, and what was different."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_chat.cli.options import OutputFormat, SharedOptions
from agent_chat.cli.wiring import nobody, settings_for, workspace_of
from agent_chat.core.errors import UserError
from agent_chat.core.events import Entry, SessionStarted
from agent_chat.engine.clock import SystemClock
from agent_chat.engine.replay.run import Replay, ReplayedTurn
from agent_chat.models.windows import Windows
from agent_chat.sessions.recording import Recording, read_recording
from agent_chat.ui.phrases import count
from agent_chat.ui.sanitize import json_safe, one_line, visible
from agent_chat.ui.stdout import Output

if TYPE_CHECKING:
    from agent_chat.cli.load_settings import Loaded
    from agent_chat.core.ports import EventSink, Toolbox

SCHEMA_VERSION = 1


def replay_again(target: str, turn: int | None, options: SharedOptions, *, reads: bool) -> int:
    """0 where nothing was different, else 1. Raises UserError where there is nothing to replay."""
    return asyncio.run(_replay(target, turn, options, reads=reads))


def logged(target: str) -> Recording:
    """The log of a session, or of a file. Raises UserError."""
    if is_recording(target):
        return read_recording(Path(target))
    from agent_chat.sessions.store import open_store

    store = open_store(say)
    try:
        return Recording(store.read(store.resolve(target)).entries, 1)
    finally:
        store.close()


def is_recording(target: str) -> bool:
    """Whether a file is meant; the ids of sessions have no dot and no slash."""
    return "." in target or "/" in target


def say(message: str) -> None:
    Output(sys.stderr).line(one_line(message))


async def known_tools(loaded: Loaded, workspace: Path, options: SharedOptions) -> Toolbox:
    """The program's tools and the user's own, as they are today; servers are not started for it."""
    from agent_chat.cli.own_tools import joined, load_own_tools
    from agent_chat.cli.policy import open_policy
    from agent_chat.cli.toolset import builtin_tools, open_sandbox
    from agent_chat.core.modes import vouch_for_none
    from agent_chat.core.permissions import Nobody
    from agent_chat.sessions.contents import MemoryContents
    from agent_chat.sessions.results import MemoryResults

    policy = open_policy(loaded, workspace, Nobody(), sandboxed=False, on_problem=say, vouches=vouch_for_none)
    sandbox = open_sandbox(loaded, workspace)
    program = builtin_tools(
        workspace, sandbox, nobody, MemoryResults(), MemoryContents(), SystemClock(), loaded, policy.judge
    )
    own = await load_own_tools(options.tools_from, options.config, loaded, workspace, say)
    return joined(program, own, say)


async def staged(
    recording: Recording, options: SharedOptions, sink: EventSink | None = None, *, reads: bool = False
) -> Replay:
    """A replay with the tools and rules of today where the log does not say what they were."""
    loaded = settings_for(options)
    return Replay(
        recording.entries,
        toolbox=await known_tools(loaded, _workspace(recording.entries, options), options),
        rules=loaded.agent.to_rules(),
        reads=reads,
        sink=sink,
        window_of=Windows(loaded.model_config()).of,
    )


def _workspace(entries: tuple[Entry, ...], options: SharedOptions) -> Path:
    """The folder of the session where it is still there and no other one is named."""
    for entry in entries:
        if isinstance(entry.event, SessionStarted) and options.workspace is None:
            folder = Path(entry.event.workspace)
            if folder.is_dir():
                return folder
    return workspace_of(options)


async def _replay(target: str, turn: int | None, options: SharedOptions, *, reads: bool) -> int:
    recording = logged(target)
    replay = await staged(recording, options, reads=reads)
    numbers = wanted_turns(replay, turn)
    replayed = [one async for one in _turns(replay, numbers)]
    output = Output(sys.stdout)
    is_same = len(replayed) == len(numbers) and all(one.is_same for one in replayed)
    if options.output is OutputFormat.TEXT:
        for one in replayed:
            output.line(_line(one))
        left = len(numbers) - len(replayed)
        if is_same:
            output.line(f"{count(len(numbers), 'turn')} replayed without difference.")
        elif left:
            output.line(f"{count(left, 'turn')} not replayed after that.")
    else:
        output.line(json_safe(json.dumps(_json(recording, replayed, is_same=is_same), ensure_ascii=False)))
    return 0 if is_same else 1


def wanted_turns(replay: Replay, turn: int | None) -> tuple[int, ...]:
    """Raises UserError where there is none."""
    if turn is None and replay.numbers:
        return replay.numbers
    if turn in replay.numbers:
        return (turn,)
    there = f"It has turns {replay.numbers[0]} to {replay.numbers[-1]}." if replay.numbers else ""
    what = "no turns" if turn is None else f"no turn {turn}"
    raise UserError(f"There is {what} in this log.", hint=there)


async def _turns(replay: Replay, numbers: tuple[int, ...]) -> AsyncIterator[ReplayedTurn]:
    for number in numbers:
        replayed = await replay.turn(number)
        yield replayed
        if replayed.difference is not None:
            return


def _line(turn: ReplayedTurn) -> str:
    if turn.problem:
        return f"turn {turn.number}: not replayed: {one_line(turn.problem)}"
    if turn.difference is not None:
        return visible(str(turn.difference))
    end = "" if turn.ended else "; here the program died"
    return f"turn {turn.number}: {count(turn.entries, 'event')}, no difference{end}"


def _json(recording: Recording, turns: list[ReplayedTurn], *, is_same: bool) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "type": "replay",
        "session_id": recording.entries[0].session_id if recording.entries else "",
        "same": is_same,
        "turns": [
            {
                "turn": turn.number,
                "events": turn.entries,
                "same": turn.is_same,
                "ended": turn.ended,
                "problem": turn.problem,
                "difference": None if turn.difference is None else asdict(turn.difference),
            }
            for turn in turns
        ],
    }
