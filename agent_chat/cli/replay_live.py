"""A logged turn that goes on for real, or that another model takes: in a new session, which is kept."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from agent_chat.cli.exit_codes import exit_code
from agent_chat.cli.options import OutputFormat, SharedOptions
from agent_chat.cli.replay_again import SCHEMA_VERSION, is_recording, logged, say, wanted_turns
from agent_chat.cli.signals import Signals
from agent_chat.cli.wiring import nobody, open_session, settings_for, verbosity
from agent_chat.core.errors import UserError
from agent_chat.core.events import Entry, ModelReplied, TurnEnded, UserSaid
from agent_chat.core.outcome import Outcome
from agent_chat.engine.replay.run import Real, Replay
from agent_chat.engine.replay.trial import Observations, TrialApprover, TrialToolbox, asked_in
from agent_chat.engine.sinks import InOrder
from agent_chat.sessions.memory import MemoryLog
from agent_chat.ui import phrases
from agent_chat.ui.plain import PlainSink
from agent_chat.ui.sanitize import json_safe, one_line, visible
from agent_chat.ui.stdout import Output


def replay_live(target: str, turn: int | None, from_iteration: int, options: SharedOptions) -> int:
    """The exit code of the turn as it ends now; 1 where it is different before. Raises UserError."""
    return asyncio.run(_go_on(target, turn, from_iteration, options))


def try_model(target: str, turn: int | None, options: SharedOptions, *, live: bool) -> int:
    """0 where the other model came to an answer; 1 where it did not. Raises UserError."""
    return asyncio.run(_try(target, turn, options, live=live))


@dataclass(frozen=True, slots=True)
class _Turn:
    """A turn of a session that is kept, and the id of a new session that holds what was before it."""

    number: int
    entries: tuple[Entry, ...]
    fork: str
    said: str


def _forked(target: str, turn: int | None, from_iteration: int) -> _Turn:
    """Raises UserError where there is no such turn or iteration."""
    from agent_chat.sessions.fork import fork_session
    from agent_chat.sessions.store import open_store

    if is_recording(target):
        raise UserError(
            "A recording cannot go on for real: that is a new session, beside the one that was recorded.",
            hint="Name the session.",
        )
    entries = logged(target).entries
    probe = Replay(entries)
    number = wanted_turns(probe, turn)[-1]
    its = probe.entries_of(number)
    iterations = max(entry.iteration for entry in its)
    said = next((entry.event.text for entry in its if isinstance(entry.event, UserSaid)), "")
    if from_iteration > max(1, iterations):
        raise UserError(f"Turn {number} has only {phrases.count(iterations, 'iteration')}.")
    store = open_store(say)
    try:
        fork = fork_session(store, store.resolve(target), time.time(), number)
    finally:
        store.close()
    return _Turn(number, its, fork, said)


async def _go_on(target: str, turn: int | None, from_iteration: int, options: SharedOptions) -> int:
    loaded = settings_for(options)
    one = _forked(target, turn, from_iteration)
    face = PlainSink(Output(sys.stdout), Output(sys.stderr), verbosity=verbosity(options))
    begun = MemoryLog("")
    opened = await open_session(loaded, replace(options, resume=one.fork), (begun,), nobody, say)
    signals = Signals()
    try:
        runtime = opened.session.runtime
        replay = Replay(
            (*opened.past, *begun.entries, *one.entries),
            rules=runtime.rules,
            redact=runtime.journal.redact,
            sink=InOrder(opened.log, face, on_problem=say),
            window_of=opened.models.window,
        )
        real = Real(runtime.model, runtime.toolbox, runtime.approver, runtime.rules, from_iteration)
        with signals.handled(replay.interrupt):
            done = await replay.turn(one.number, real)
            if done.outcome is not None:
                await replay.leave("one_shot")
    finally:
        await opened.close()
    if done.difference is not None or done.problem or done.outcome is None:
        say_all(str(done.difference or done.problem or "The log ends before that iteration."))
        return 1
    say(f"It goes on with: agent-chat -r {one.fork}")
    return signals.code or exit_code(done.outcome.reason)


def say_all(text: str) -> None:
    Output(sys.stderr).line(visible(text))


async def _try(target: str, turn: int | None, options: SharedOptions, *, live: bool) -> int:
    loaded = settings_for(options)
    one = _forked(target, turn, 1)
    made = MemoryLog("")
    opened = await open_session(loaded, replace(options, resume=one.fork), (made,), nobody, say)
    signals = Signals()
    try:
        runtime = opened.session.runtime
        observations = Observations(one.entries, runtime.rules.result_limit)
        runtime.toolbox = TrialToolbox(runtime.toolbox, observations, live=live)
        runtime.approver = TrialApprover(runtime.approver, observations, live=live)
        with signals.handled(opened.session.interrupt):
            outcome = await opened.session.turn(one.said)
            await opened.session.end("one_shot")
    finally:
        await opened.close()
    compared = _compared(one, made.entries, outcome)
    _print(compared, options)
    return signals.code or (0 if outcome.kind == "completed" else 1)


def _compared(one: _Turn, made: Sequence[Entry], outcome: Outcome) -> dict[str, Any]:
    logged_calls, calls = asked_in(one.entries), asked_in(made)
    pairs = enumerate(zip_longest(logged_calls, calls), 1)
    first = next(
        (
            {"call": place, "logged": str(old or "no call"), "tried": str(new or "no call")}
            for place, (old, new) in pairs
            if old != new
        ),
        None,
    )
    return {
        "schema_version": SCHEMA_VERSION,
        "type": "trial",
        "turn": one.number,
        "session_id": one.fork,
        "first_difference": first,
        "logged": _sums(one.entries),
        "tried": _sums(made),
        "reason": outcome.reason,
    }


def _sums(entries: Sequence[Entry]) -> dict[str, Any]:
    end = next((entry.event for entry in reversed(entries) if isinstance(entry.event, TurnEnded)), None)
    model = next((entry.event.model for entry in entries if isinstance(entry.event, ModelReplied)), "")
    if end is None:
        return {"model": model, "reason": None}
    return {
        "model": model,
        "reason": end.reason,
        "iterations": end.iterations,
        "tool_calls": end.tool_calls,
        "tokens": end.usage.total,
        "cost_usd": end.cost_usd,
        "duration_s": round(end.duration_s, 3),
        "answer": end.answer,
    }


def _print(compared: dict[str, Any], options: SharedOptions) -> None:
    output = Output(sys.stdout)
    if options.output is not OutputFormat.TEXT:
        output.line(json_safe(json.dumps(compared, ensure_ascii=False)))
        return
    sides: tuple[dict[str, Any], dict[str, Any]] = compared["logged"], compared["tried"]
    for name in ("model", "reason", "iterations", "tool_calls", "tokens", "cost_usd", "duration_s"):
        told = [one_line(str(side.get(name, "not in the log"))) for side in sides]
        output.line(f"{name:<12}{told[0]:<32}{told[1]}")
    if first := compared["first_difference"]:
        output.line(f"\nThe calls differ from call {first['call']} on:")
        output.line(f"  logged: {one_line(first['logged'])}\n  tried:  {one_line(first['tried'])}")
    else:
        output.line("\nThe calls are the same.")
    for title, side in zip(("Logged", "Tried"), sides, strict=True):
        output.line(f"\n── {title} answer\n{visible(str(side.get('answer', '')))}")
