"""Where a replay is not what the log says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from agent_chat.core.events import Entry, Event, dump_event

_NOT_COMPARED = frozenset(("duration_s", "idempotency_key"))
"""How long something took, and what follows from the session's id."""
_PLANS = {
    "context_shortened": frozenset(("dropped", "tool_result_limit", "tokens")),
    "context_thinned": frozenset(("results", "limit", "tokens")),
    "compaction_started": frozenset(("tokens", "window")),
    "context_compacted": frozenset(("dropped", "kept", "tokens_before", "tokens", "pinned")),
    "compaction_failed": frozenset(("tokens",)),
}
"""What follows from the size of the tools' descriptions, which the log does not have."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first of them: nothing that comes after it says anything."""

    turn: int
    iteration: int
    seq: int
    """Of the logged entry."""
    event: str
    """Its type, with the name of the tool that it is about."""
    field: str
    """Such as `arguments.path`; empty where it is another event altogether."""
    expected: str
    got: str

    def __str__(self) -> str:
        where = f"turn {self.turn}, iteration {self.iteration}, event {self.seq} ({self.event})"
        what = f": {self.field}" if self.field else ""
        return f"{where}{what}\n  logged:   {self.expected}\n  replayed: {self.got}"


def named(event: Event) -> str:
    """An event in a few words."""
    name = getattr(event, "name", "")
    call_id = getattr(event, "call_id", "")
    of = f" of {name}" if name else ""
    return f"{event.type}{of}{f' ({call_id})' if call_id else ''}"


def compare(logged: Entry, made: Entry, *, plans: bool = True) -> Difference | None:
    """`plans`: what the context's passes decide is compared too."""
    expected, got = logged.event, made.event
    if expected.type != got.type:
        return _difference(
            logged, "", f"{named(expected)}: {_fields(expected)}", f"{named(got)}: {_fields(got)}"
        )
    if expected == got and (logged.turn, logged.iteration) == (made.turn, made.iteration):
        return None
    skipped = _NOT_COMPARED
    if not plans:
        skipped |= _PLANS.get(expected.type, frozenset())
    if expected.type == "limit_warning" and getattr(expected, "limit", "") == "time":
        skipped |= {"used"}
    old = {"turn": logged.turn, "iteration": logged.iteration} | _content(expected)
    new = {"turn": made.turn, "iteration": made.iteration} | _content(got)
    for path, left, right in _differences(old, new, ""):
        if path.split(".", 1)[0].split("[", 1)[0] not in skipped:
            return _difference(logged, path, _shown(left), _shown(right))
    return None


def stands_still(logged: Entry) -> Difference:
    """The loop waits for something else than what the log says comes next."""
    return _difference(
        logged, "", f"{named(logged.event)}: {_fields(logged.event)}", "nothing: the loop waits"
    )


def _difference(logged: Entry, path: str, expected: str, got: str) -> Difference:
    return Difference(logged.turn, logged.iteration, logged.seq, named(logged.event), path, expected, got)


def _content(event: Event) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(dump_event(event)))


def _fields(event: Event) -> str:
    """What the event says, on a line."""
    kept = {
        name: value
        for name, value in _content(event).items()
        if name not in ("type", "name", "call_id", *_NOT_COMPARED) and value not in (None, "", [], {})
    }
    return _shown(kept)


def _differences(old: Any, new: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    match old, new:
        case dict(), dict():
            before, after = cast("dict[str, Any]", old), cast("dict[str, Any]", new)
            for key in dict.fromkeys((*before, *after)):
                where = f"{path}.{key}" if path else key
                yield from _differences(before.get(key, _Absent), after.get(key, _Absent), where)
        case list(), list():
            left, right = cast("list[Any]", old), cast("list[Any]", new)
            for index, (one, other) in enumerate(zip(left, right, strict=False)):
                yield from _differences(one, other, f"{path}[{index}]")
            if len(left) != len(right):
                yield f"{path}.length", len(left), len(right)
        case _:
            if old != new:
                yield path, old, new


class _Absent:
    """In the place of a field that is not there."""


SHOWN = 300
"""Characters of a value."""


def _shown(value: Any) -> str:
    if value is _Absent:
        return "(not there)"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
